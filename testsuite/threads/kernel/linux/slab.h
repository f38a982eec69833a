// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/kernel/kernel.h"
