// SPDX-License-Identifier: GPL-2.0-or-later
// The search of a process's arguments and environment (runtime/context/command_line.c), in the
// test's own memory.
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#include "context/command_line.c"
