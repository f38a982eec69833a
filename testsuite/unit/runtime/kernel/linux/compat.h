/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_COMPAT_H
#define DJSTAP_TEST_COMPAT_H
#include <stdbool.h>
extern bool test_is_compat;
#define in_compat_syscall() test_is_compat
#endif
