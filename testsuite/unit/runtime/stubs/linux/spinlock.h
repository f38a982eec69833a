/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those of the made-up kernel, which notice a lock that is held, or not held, when it must not be.
 */
#include "../../kernel/linux/spinlock.h"
