// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

#include "instructions_for_test.h"

/* sites_for_test.c has the others. */
#define djs_lookup_update test_lookup_update
#define djs_lookup_exit test_lookup_exit
#define djs_find_site test_find_site
#include "lookup_for_test.h"

u32 test_draws, test_bad_draws, test_lookup_drains, test_lookup_rests;
u64 test_lookup_largest;

static u64 test_multiplier(void) {
    u64 x = ++test_draws * 0x9e3779b97f4a7c15ull;

    if (test_draws <= test_bad_draws)
        return 0;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    /* Two keys that differ by 16 are then 5 or 6 places apart. */
    return (x & ~0ull >> 4) | 5ull << 60;
}

static void* test_allocated(u64 count, u64 size) {
    if (count * size > test_lookup_largest)
        test_lookup_largest = count * size;
    return guarded_allocate(count, size, 0);
}

#undef kvcalloc
#define kvcalloc(count, size, flags) test_allocated(count, size)
#undef kvzalloc
#define kvzalloc(size, flags) test_allocated(1, size)
#define get_random_u64() test_multiplier()
#define cond_resched() ((void)test_lookup_rests++)
#define synchronize_rcu() ((void)test_lookup_drains++)

#include "sites/lookup.c"
