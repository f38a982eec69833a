/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's structures for paths_for_test.c. */
#include "linux/dcache.h"
