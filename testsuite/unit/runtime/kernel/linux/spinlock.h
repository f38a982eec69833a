/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: one thread uses them, and a
 * lock that it would wait for, or releases without having it, ends the test. */
#ifndef DJSTAP_TEST_SPINLOCK_H
#define DJSTAP_TEST_SPINLOCK_H
#include <stdbool.h>
#include <stdlib.h>

typedef struct {
    bool is_made, is_held;
} raw_spinlock_t;

extern int test_atomic_depth;

static inline bool test_try_lock(raw_spinlock_t* lock) {
    const bool was_held = lock->is_held;

    if (!lock->is_made)
        abort();
    lock->is_held = true;
    test_atomic_depth += !was_held;
    return !was_held;
}

static inline void test_lock(raw_spinlock_t* lock) {
    if (!test_try_lock(lock))
        abort();
}

static inline void test_unlock(raw_spinlock_t* lock) {
    if (!lock->is_held)
        abort();
    lock->is_held = false;
    test_atomic_depth--;
}

#define DEFINE_RAW_SPINLOCK(name) raw_spinlock_t name = {true, false}
#define raw_spin_lock_init(lock) ((void)(*(lock) = (raw_spinlock_t){true, false}))
#define raw_spin_lock_irq(lock) test_lock(lock)
#define raw_spin_unlock_irq(lock) test_unlock(lock)
#define raw_spin_lock_irqsave(lock, flags) (test_lock(lock), (flags) = 0)
#define raw_spin_trylock_irqsave(lock, flags) ((flags) = 0, test_try_lock(lock))
#define raw_spin_unlock_irqrestore(lock, flags) (test_unlock(lock), (void)(flags))

typedef raw_spinlock_t spinlock_t;
#define DEFINE_SPINLOCK(name) DEFINE_RAW_SPINLOCK(name)
#define spin_lock(lock) test_lock(lock)
#define spin_unlock(lock) test_unlock(lock)
#endif
