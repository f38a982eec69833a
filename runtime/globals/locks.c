// SPDX-License-Identifier: GPL-2.0-or-later
// The locks of a script's globals: many readers or one writer, tried for a bounded time. A holder
// has interrupts disabled, so only an NMI can find a lock held by its own CPU; it tries once.
#include <linux/atomic.h>

#include "globals/globals.h"
#include "globals/locks.h"

#define PAUSES_PER_TRY 100 /* some microseconds: about as long as a short handler runs */

DJS_HANDLER_CODE bool djs_locks_take(const struct djs_handler *handler, bool nmi)
{
	u32 tries = nmi ? 1 : max(djs_script.max_trylock, 1u);
	u32 i, pause;

	for (i = 0; i < handler->lock_count; i++) {
		const struct djs_lock_use *use = &handler->locks[i];

		while (!djs_lock_try(djs_lock_of(use), use->write)) {
			if (!--tries) {
				while (i)
					djs_lock_release(&handler->locks[--i]);
				return false;
			}
			for (pause = 0; pause < PAUSES_PER_TRY; pause++) {
				cpu_relax();
				if (atomic_read(&djs_lock_of(use)->holders) == 0)
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
		djs_lock_release(&handler->locks[--i]);
}
