/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_SEQLOCK_H
#define DJSTAP_TEST_SEQLOCK_H
#include "include/platform.h"
typedef struct {
    u32 sequence;
} seqcount_latch_t;
#endif
