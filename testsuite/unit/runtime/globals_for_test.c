// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces cpu/level.h: user space has no NMIs, and the test simulates one. It also determines how
// much memory is available.
#define DJSTAP_LEVEL_H
#include "globals_for_test.h"
#include "globals/locks.h"

volatile int test_in_nmi;

static inline bool djs_in_nmi(void) {
    return test_in_nmi;
}

volatile long test_pages_available = LONG_MAX / 2;
#undef si_mem_available
#define si_mem_available() test_pages_available

void (*volatile test_before_exchange)(s64* place);

static s64 test_exchange(s64* place, s64 old, s64 value) {
    if (test_before_exchange)
        test_before_exchange(place);
    return __sync_val_compare_and_swap(place, old, value);
}
#undef cmpxchg
#define cmpxchg test_exchange

volatile u64 test_random_number;
#define get_random_u64() (test_random_number++)

#include "globals/globals.c"

int test_locks_take(const struct djs_handler* handler, int nmi) {
    return djs_locks_take_quickly(handler) || djs_locks_take(handler, nmi);
}

void test_locks_release(const struct djs_handler* handler) {
    if (!djs_locks_release_quickly(handler))
        djs_locks_release(handler);
}

void* test_allocate(u64 bytes) {
    return djs_allocate(bytes);
}

// The source of all the runtime's memory: the linker redirects the library's function to it.
volatile long test_allocations_left = LONG_MAX;

int __real_posix_memalign(void** memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size);

int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
    if (!test_allocations_left)
        return ENOMEM;
    test_allocations_left--;
    return __real_posix_memalign(memory, alignment, size);
}
