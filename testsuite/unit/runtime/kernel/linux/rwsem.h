/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: as mutex.h. */
#ifndef DJSTAP_TEST_RWSEM_H
#define DJSTAP_TEST_RWSEM_H
#include <stdbool.h>
#include <stdlib.h>

struct rw_semaphore {
    int readers;
    bool is_written;
};
#define DECLARE_RWSEM(name) struct rw_semaphore name = {0, false}

void test_may_sleep(void);

static inline void down_read(struct rw_semaphore* lock) {
    test_may_sleep();
    if (lock->is_written)
        abort();
    lock->readers++;
}

static inline void up_read(struct rw_semaphore* lock) {
    if (lock->readers-- <= 0)
        abort();
}

static inline void down_write(struct rw_semaphore* lock) {
    test_may_sleep();
    if (lock->is_written || lock->readers)
        abort();
    lock->is_written = true;
}

static inline void up_write(struct rw_semaphore* lock) {
    if (!lock->is_written)
        abort();
    lock->is_written = false;
}
#endif
