/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those of the made-up kernel, as spinlock.h. */
#include "../../kernel/linux/mutex.h"
