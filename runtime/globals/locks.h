/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One lock of a script's globals: many readers or one writer. Most handlers take just one lock, and
 * find it free: that case is inline for context/enter.c. The rest is in locks.c.
 */
#ifndef DJSTAP_LOCKS_H
#define DJSTAP_LOCKS_H

#include <linux/atomic.h>

#include "include/script.h"

struct djs_lock {
	atomic_t holders; /* number of readers, or -1: a writer */
} __attribute__((aligned(DJS_LOCK_BYTES)));

static __always_inline struct djs_lock *djs_lock_of(const struct djs_lock_use *use)
{
	return &djs_script.locks[use->lock];
}

static __always_inline bool djs_lock_try(struct djs_lock *lock, bool write)
{
	int holders = atomic_read(&lock->holders);

	if (write)
		return holders == 0 && atomic_try_cmpxchg_acquire(&lock->holders, &holders, -1);
	return holders >= 0 && atomic_try_cmpxchg_acquire(&lock->holders, &holders, holders + 1);
}

static __always_inline void djs_lock_release(const struct djs_lock_use *use)
{
	if (use->write)
		atomic_set_release(&djs_lock_of(use)->holders, 0);
	else
		atomic_dec_return_release(&djs_lock_of(use)->holders);
}

/* Takes the only lock of a handler, if it is free. False: djs_locks_take decides. */
static __always_inline bool djs_locks_take_quickly(const struct djs_handler *handler)
{
	const struct djs_lock_use *use = handler->locks;

	return handler->lock_count == 1 && djs_lock_try(djs_lock_of(use), use->write);
}

/* Releases the only lock of a handler. False: use djs_locks_release. */
static __always_inline bool djs_locks_release_quickly(const struct djs_handler *handler)
{
	if (handler->lock_count != 1)
		return false;
	djs_lock_release(handler->locks);
	return true;
}

#endif
