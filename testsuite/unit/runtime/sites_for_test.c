// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of a script (runtime/sites/sites.c), for one thread in user space.
/* What other sources have of this. */
#define djs_session_message test_sites_message
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#include "log_for_test.h"
#include "sites_for_test.h"

#define max3(a, b, c) max(a, max(b, c))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define lockdep_assert_held(lock) ((lock)->is_held ? (void)0 : abort())
#define _printk printf /* of which only the address is used */

#include "sites/sites.c"

char test_sites_log[1024];
int test_sites_lookup_error, test_sites_placed_error;

LOG_SESSION_MESSAGES(test_sites_log)

/* What other sources do with sites is no part of the test. */
int djs_lookup_update(void) {
    return test_sites_lookup_error;
}
void djs_lookup_exit(void) {}
int djs_placed_init(void) {
    return test_sites_placed_error;
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

u64 test_sites_kernel(void) {
    return (u64)(unsigned long)_printk;
}

struct test_site_now test_site_now(u32 number) {
    const struct djs_site_run* run = &djs_sites[number];

    return (struct test_site_now){.address = run->address,
                                  .probe = run->probe,
                                  .image = run->image,
                                  .mechanism = run->mechanism,
                                  .next = run->next ? (int)(run->next - djs_sites) : -1,
                                  .follows = run->follows,
                                  .absent = run->absent};
}

bool test_sites_exist(void) {
    return djs_sites || djs_biases;
}

void test_site_fails(u32 number, int error, const char* why) {
    djs_site_failed(&djs_sites[number], error, why);
}
