/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_GFP_H
#define DJSTAP_TEST_GFP_H
typedef unsigned gfp_t;
#define GFP_NOWAIT 1u
#define gfpflags_allow_blocking(how) ((how) != GFP_NOWAIT)
#endif
