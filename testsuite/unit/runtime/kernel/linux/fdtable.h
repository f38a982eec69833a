/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: nothing of it is needed. */
#ifndef DJSTAP_TEST_FDTABLE_H
#define DJSTAP_TEST_FDTABLE_H
#endif
