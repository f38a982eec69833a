// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and threads that are followed (runtime/process/), for one thread in user space.
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#include "process/members.c"
