/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: the flags are in
 * kernel_for_test.h. */
#ifndef DJSTAP_TEST_GFP_H
#define DJSTAP_TEST_GFP_H
typedef unsigned gfp_t;
#endif
