// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#include "paths_for_test.h"

#include "context/paths.c"

#include "context/ancestors.c"
