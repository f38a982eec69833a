/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those of the made-up kernel. */
#include "../../kernel/linux/list.h"
