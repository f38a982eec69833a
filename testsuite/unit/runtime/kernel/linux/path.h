/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#include "linux/fs.h"
