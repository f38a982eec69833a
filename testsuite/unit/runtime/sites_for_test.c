// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of a script (runtime/sites/sites.c), for one thread in user space.
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#define max3(a, b, c) max(a, max(b, c))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define lockdep_assert_held(lock) ((void)(lock))
#define _printk printf /* of which only the address is used */

#include "sites/sites.c"

/* What other sources do with sites is no part of the test. */
int djs_lookup_update(void) {
    return 0;
}
void djs_lookup_exit(void) {}
int djs_placed_init(void) {
    return 0;
}
void djs_placed_exit(void) {}

bool test_sites_are_locked(void) {
    return sites_mutex.is_held;
}

/* Whoever changes sites under the lock may have found a reason to stay loaded. */
u32 test_pins_reported;
void djs_pin_report(void) {
    test_pins_reported += test_sites_are_locked();
}
