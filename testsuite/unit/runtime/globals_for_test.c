// SPDX-License-Identifier: GPL-2.0-or-later
// In place of cpu/level.h: user space has no NMIs, and the test plays one.
#define DJSTAP_LEVEL_H
#include "globals_for_test.h"
#include "globals/locks.h"

volatile int test_in_nmi;

static inline bool djs_in_nmi(void) {
    return test_in_nmi;
}

#include "globals/globals.c"

int test_locks_take(const struct djs_handler* handler, int nmi) {
    return djs_locks_take_quickly(handler) || djs_locks_take(handler, nmi);
}

void test_locks_release(const struct djs_handler* handler) {
    if (!djs_locks_release_quickly(handler))
        djs_locks_release(handler);
}
