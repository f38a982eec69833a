/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: as spinlock.h, but whoever has
 * one may sleep. */
#ifndef DJSTAP_TEST_MUTEX_H
#define DJSTAP_TEST_MUTEX_H
#include "linux/slab.h"

#include <stdbool.h>
#include <stdlib.h>

#undef DEFINE_MUTEX
#undef mutex_lock
#undef mutex_unlock
struct test_mutex {
    bool is_made, is_held;
};
#define DEFINE_MUTEX(name) struct test_mutex name = {true, false}
#define mutex_init(mutex) ((void)(*(mutex) = (struct test_mutex){true, false}))
#define mutex_lock(mutex) test_mutex_lock(mutex)
#define mutex_unlock(mutex) test_mutex_unlock(mutex)

void test_may_sleep(void);

static inline void test_mutex_lock(struct test_mutex* mutex) {
    test_may_sleep();
    if (!mutex->is_made || mutex->is_held)
        abort();
    mutex->is_held = true;
}

static inline void test_mutex_unlock(struct test_mutex* mutex) {
    if (!mutex->is_held)
        abort();
    mutex->is_held = false;
}
#endif
