// SPDX-License-Identifier: GPL-2.0-or-later
// The locks of a script's globals: many readers or one writer, tried for a bounded time. A holder
// has interrupts off, so only an NMI can meet a lock that its own CPU holds, and that tries once.
#include <linux/atomic.h>
#include <linux/slab.h>

#include "control/runtime.h"

struct djs_lock {
	atomic_t holders; /* readers, or -1: a writer */
} ____cacheline_aligned_in_smp;
static struct djs_lock *locks;

int djs_locks_init(void)
{
	if (!djs_script.lock_count)
		return 0;
	locks = kvcalloc(djs_script.lock_count, sizeof(*locks), GFP_KERNEL);
	return locks ? 0 : -ENOMEM;
}

void djs_locks_exit(void)
{
	kvfree(locks);
	locks = NULL;
}

static __always_inline bool try_lock(struct djs_lock *lock, bool write)
{
	int holders = atomic_read(&lock->holders);

	if (write)
		return holders == 0 && atomic_try_cmpxchg_acquire(&lock->holders, &holders, -1);
	return holders >= 0 && atomic_try_cmpxchg_acquire(&lock->holders, &holders, holders + 1);
}

static __always_inline void release_lock(const struct djs_lock_use *use)
{
	if (use->write)
		atomic_set_release(&locks[use->lock].holders, 0);
	else
		atomic_dec_return_release(&locks[use->lock].holders);
}

#define PAUSES_PER_TRY 100 /* some microseconds: as long as a short handler runs */

DJS_HANDLER_CODE bool djs_locks_take(const struct djs_handler *handler, bool nmi)
{
	u32 tries = nmi ? 1 : max(djs_script.max_trylock, 1u);
	u32 i, pause;

	for (i = 0; i < handler->lock_count; i++) {
		const struct djs_lock_use *use = &handler->locks[i];

		while (!try_lock(&locks[use->lock], use->write)) {
			if (!--tries) {
				while (i)
					release_lock(&handler->locks[--i]);
				return false;
			}
			for (pause = 0; pause < PAUSES_PER_TRY; pause++) {
				cpu_relax();
				if (atomic_read(&locks[use->lock].holders) == 0)
					break;
			}
		}
	}
	return true;
}

DJS_HANDLER_CODE void djs_locks_release(const struct djs_handler *handler)
{
	u32 i = handler->lock_count;

	while (i)
		release_lock(&handler->locks[--i]);
}
