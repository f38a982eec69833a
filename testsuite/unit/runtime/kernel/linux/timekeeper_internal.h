/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_TIMEKEEPER_INTERNAL_H
#define DJSTAP_TEST_TIMEKEEPER_INTERNAL_H
#include "include/platform.h"
struct clocksource {
    bool counts_cycles;
};
struct tk_read_base {
    struct clocksource* clock;
    u64 mask, cycle_last;
    u32 mult, shift;
    u64 xtime_nsec;
    s64 base; /* ktime_t */
    u64 base_real;
};
#endif
