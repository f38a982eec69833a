// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and threads that are followed (runtime/process/), for one thread in user space.
#include "kernel_for_test.h"

#include "process/members.c"
