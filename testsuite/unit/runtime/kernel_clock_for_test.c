// SPDX-License-Identifier: GPL-2.0-or-later
/* What the tests of others have. */
#define djs_biases test_clock_biases
#define djs_kernel_clock test_kernel_clock
#define djs_kernel_clock_init test_kernel_clock_init
#define DJS_HAVE_TK_READ_BASE 1
#include <assert.h>

#include "kernel_for_test.h"

#include "linux/seqlock.h"
#include "linux/timekeeper_internal.h"

#include "kernel_clock_for_test.h"

static u64 kernel_time(int which);
static u64 read_cycles(void);
static long read_memory(void* to, const void* from, size_t bytes);
#define ktime_get_real_fast_ns() kernel_time(TEST_CLOCK_REAL)
#define ktime_get_mono_fast_ns() kernel_time(TEST_CLOCK_MONOTONIC)
#define djs_cycles_in_order() read_cycles()
#define djs_counts_cycles(source) ((source)->counts_cycles)
#undef barrier
#define barrier() (test_clock_checks ? test_clock_checks() : (void)0)
#undef copy_from_kernel_nofault
#define copy_from_kernel_nofault(to, from, bytes) read_memory(to, from, bytes)

/* gcc does not see that a clock that was not read is not compared. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "context/kernel_clock.c"

struct test_clock_base test_clock_bases[2];
u32 test_clock_sequence, test_clock_asked[2];
bool test_clock_counts_cycles, test_clock_switched;
u64 test_clock_cycles;
u64 (*test_clock_kernel)(int which);
void (*test_clock_reads)(void);
void (*test_clock_checks)(void);
int test_clock_faults_at;

static unsigned long bias_of_kernel = TEST_CLOCK_BIAS;
unsigned long* djs_biases = &bias_of_kernel;
static struct djs_tk_fast fast_of_test;
static struct clocksource source_of_test, other_source;

/* The structure as the test wants it now. */
static void tell_clock(void) {
    u32 i;

    fast_of_test.seq.sequence = test_clock_sequence;
    source_of_test.counts_cycles = test_clock_counts_cycles;
    for (i = 0; i < 2; i++) {
        const struct test_clock_base* base = &test_clock_bases[i];

        fast_of_test.base[i] =
            (struct tk_read_base){.clock = test_clock_switched ? &other_source : &source_of_test,
                                  .cycle_last = base->cycle_last,
                                  .mult = base->mult,
                                  .shift = base->shift,
                                  .xtime_nsec = base->xtime_nsec,
                                  .base = base->base,
                                  .base_real = base->base_real};
    }
}

static u64 kernel_time(int which) {
    test_clock_asked[which]++;
    return test_clock_kernel(which);
}

static u64 read_cycles(void) {
    if (test_clock_reads)
        test_clock_reads();
    return test_clock_cycles;
}

static long read_memory(void* to, const void* from, size_t bytes) {
    if (test_clock_faults_at >= 0 && !test_clock_faults_at--) {
        test_clock_faults_at = 0;
        return -EFAULT;
    }
    tell_clock();
    memcpy(to, from, bytes);
    return 0;
}

u64 test_clock_linked_address(void) {
    return (u64)&fast_of_test - TEST_CLOCK_BIAS;
}

void test_clock_begin(void) {
    static const struct djs_kernel_clock none = {
        unreadable, {unreadable, unreadable}, unreadable, DJS_CLOCK_LIMIT};

    djs_kernel_clock = none;
    memset(test_clock_bases, 0, sizeof(test_clock_bases));
    test_clock_sequence = test_clock_asked[0] = test_clock_asked[1] = 0;
    test_clock_counts_cycles = true;
    test_clock_switched = false;
    test_clock_reads = test_clock_checks = NULL;
    test_clock_faults_at = -1;
}

bool test_clock_init(void) {
    djs_kernel_clock_init();
    return djs_kernel_clock.fast != unreadable;
}

bool test_clock_is_right(void) {
    return djs_kernel_clock.fast == &fast_of_test &&
           djs_kernel_clock.base[0] == &fast_of_test.base[0] &&
           djs_kernel_clock.base[1] == &fast_of_test.base[1] &&
           djs_kernel_clock.cycles == &source_of_test;
}

u64 test_clock_limit(void) {
    return djs_kernel_clock.limit;
}
