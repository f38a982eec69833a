/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_KTIME_H
#define DJSTAP_TEST_KTIME_H
#include "include/platform.h"
u64 ktime_get_ns(void);
#endif
