/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether handlers read the kernel's clock themselves (runtime/context/kernel_clock.c), with a
 * clock that is made up: its structure, and what the kernel's functions return. */
#ifndef DJSTAP_KERNEL_CLOCK_FOR_TEST_H
#define DJSTAP_KERNEL_CLOCK_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_CLOCK_REAL, TEST_CLOCK_MONOTONIC };

/* One of the clock's two copies. */
struct test_clock_base {
    u64 cycle_last;
    u32 mult, shift;
    u64 xtime_nsec;
    s64 base;
    u64 base_real;
};
extern struct test_clock_base test_clock_bases[2];
extern u32 test_clock_sequence;
extern bool test_clock_counts_cycles; /* the kernel's clocksource */
extern bool test_clock_switched;      /* to another one, after the beginning */

extern u64 test_clock_cycles;
/* Called when the kernel is asked for the time, and returns it. */
extern u64 (*test_clock_kernel)(int which);
/* Called when the cycles are read, and when what was read is about to be checked. */
extern void (*test_clock_reads)(void);
extern void (*test_clock_checks)(void);
/* Of the reads of memory from now on, the one with this number and those behind it fault; below 0:
 * none. */
extern int test_clock_faults_at;
extern u32 test_clock_asked[2]; /* how often the kernel was */

/* How far the kernel is from where it was linked, and the clock's address there. */
enum { TEST_CLOCK_BIAS = 0x5000 };
u64 test_clock_linked_address(void);
void test_clock_begin(void);
/* Returns whether handlers read the clock themselves from now on, and whether what they read is
 * right then. */
bool test_clock_init(void);
bool test_clock_is_right(void);
u64 test_clock_limit(void);
#ifdef __cplusplus
}
#endif
#endif
