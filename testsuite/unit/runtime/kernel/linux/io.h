/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: as vmalloc.h. */
#ifndef DJSTAP_TEST_IO_H
#define DJSTAP_TEST_IO_H
#include "linux/vmalloc.h"
#endif
