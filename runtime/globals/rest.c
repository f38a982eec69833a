// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that take long yield the CPU, and their globals.
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "globals/globals.h"
#include "state/state.h"

/*
 * While the locks are held, this CPU's context for tasks is in use, as with any other handler: hits
 * inside this one are skipped. The context is free here, because its users do not give up the CPU,
 * but for a deferred call (context/deferred.c) with PREEMPT_RT, which gets it back as it was.
 */
static DJS_HANDLER_CODE void borrow_context(const struct djs_handler *handler)
{
	struct djs_ctx *here = this_cpu_read(djs_cpu.contexts);

	this_cpu_write(djs_cpu.lent_busy, here->busy);
	this_cpu_write(djs_cpu.lent_handler, here->handler);
	WRITE_ONCE(here->handler, handler);
	WRITE_ONCE(here->busy, DJS_BUSY_LOCKED);
	barrier();
}

static DJS_HANDLER_CODE void return_context(void)
{
	struct djs_ctx *here = this_cpu_read(djs_cpu.contexts);

	barrier();
	WRITE_ONCE(here->handler, this_cpu_read(djs_cpu.lent_handler));
	WRITE_ONCE(here->busy, this_cpu_read(djs_cpu.lent_busy));
}

DJS_HANDLER_CODE void djs_task_lock(struct djs_ctx *ctx)
{
	for (;;) {
		unsigned long irq_flags;

		raw_local_irq_save(irq_flags);
		borrow_context(ctx->handler);
		if (djs_locks_take(ctx->handler, true)) {
			ctx->irq_flags = irq_flags;
			ctx->locks_held = ctx->handler->lock_count;
			return;
		}
		return_context();
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
	return_context();
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
