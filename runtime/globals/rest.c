// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that take long yield the CPU, and their globals.
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "globals/globals.h"
#include "state/state.h"

/*
 * While the locks are held, this CPU's context for tasks is in use, as with any other handler: hits
 * inside this one are skipped. The context is free here, because its users do not give up the CPU.
 */
DJS_HANDLER_CODE void djs_task_lock(struct djs_ctx *ctx)
{
	for (;;) {
		struct djs_ctx *here;
		unsigned long irq_flags;

		raw_local_irq_save(irq_flags);
		here = this_cpu_read(djs_cpu.contexts);
		WRITE_ONCE(here->handler, ctx->handler);
		WRITE_ONCE(here->busy, DJS_BUSY_LOCKED);
		barrier();
		if (djs_locks_take(ctx->handler, true)) {
			ctx->irq_flags = irq_flags;
			ctx->locks_held = ctx->handler->lock_count;
			return;
		}
		WRITE_ONCE(here->busy, 0);
		raw_local_irq_restore(irq_flags);
		cpu_relax();
		cond_resched();
	}
}

DJS_HANDLER_CODE void djs_task_unlock(struct djs_ctx *ctx)
{
	unsigned long irq_flags = ctx->irq_flags;

	djs_locks_release(ctx->handler);
	ctx->locks_held = 0;
	barrier();
	WRITE_ONCE(this_cpu_read(djs_cpu.contexts)->busy, 0);
	raw_local_irq_restore(irq_flags);
}

DJS_HANDLER_CODE void djs_rest(struct djs_ctx *ctx)
{
	switch (ctx->rests) {
	case DJS_RESTS_SHARED:
		djs_task_unlock(ctx);
		cond_resched();
		djs_task_lock(ctx);
		break;
	case DJS_RESTS_ALONE:
		cond_resched();
		if (fatal_signal_pending(current))
			djs_fail(ctx, "killed", DJS_NO_PLACE);
		break;
	}
}
