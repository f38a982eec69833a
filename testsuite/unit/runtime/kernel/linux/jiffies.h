/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: they have their own jiffies. */
#ifndef DJSTAP_TEST_JIFFIES_H
#define DJSTAP_TEST_JIFFIES_H
#endif
