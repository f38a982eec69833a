/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: as spinlock.h. */
#ifndef DJSTAP_TEST_MUTEX_H
#define DJSTAP_TEST_MUTEX_H
#include "linux/slab.h"

#include "linux/spinlock.h"

#undef DEFINE_MUTEX
#undef mutex_lock
#undef mutex_unlock
#define DEFINE_MUTEX(name) raw_spinlock_t name = {true, false}
#define mutex_lock(mutex) test_lock(mutex)
#define mutex_unlock(mutex) test_unlock(mutex)
#endif
