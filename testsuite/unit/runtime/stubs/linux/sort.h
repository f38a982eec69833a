/* SPDX-License-Identifier: GPL-2.0-or-later */
/* That of the made-up kernel. */
#include "../../kernel/linux/sort.h"
