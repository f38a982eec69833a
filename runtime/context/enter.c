// SPDX-License-Identifier: GPL-2.0-or-later
// Contexts: what a handler works in. One for each CPU and level of interruption, so that a hit
// inside an interrupt is not lost to the handler that it interrupted, and a hit inside a handler of
// the same level is.
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "globals/locks.h"

u32 djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
struct djs_ctx djs_session_ctx;
atomic_t djs_locked_skips = ATOMIC_INIT(0);

/* A context's memory: the script's scratch, then the runtime's work area and tokenize()'s text. */
static size_t scratch_bytes(void)
{
	return ALIGN(max_t(size_t, djs_script.scratch_bytes, 8), 64);
}

static size_t memory_bytes(void)
{
	return scratch_bytes() + DJS_WORK_BYTES + ALIGN(djs_script.string_bytes + 1, 64);
}

static void context_init(struct djs_ctx *ctx, u32 level, char *memory)
{
	ctx->level = level;
	ctx->scratch = memory;
	ctx->work = memory + scratch_bytes();
}

int djs_contexts_init(void)
{
	unsigned int cpu, level;
	char *memory = kvzalloc(memory_bytes(), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	context_init(&djs_session_ctx, DJS_LEVEL_SESSION, memory);
	djs_session_ctx.can_wait = 1;
	for_each_possible_cpu (cpu) {
		struct djs_ctx *contexts;

		contexts =
		    kcalloc_node(DJS_LEVELS, sizeof(*contexts), GFP_KERNEL, cpu_to_node(cpu));
		per_cpu(djs_cpu, cpu).contexts = contexts;
		if (!contexts)
			goto no_memory;
		memory = kvzalloc(DJS_LEVELS * memory_bytes(), GFP_KERNEL);
		if (!memory)
			goto no_memory;
		for (level = 0; level < DJS_LEVELS; level++)
			context_init(&contexts[level], level, memory + level * memory_bytes());
	}
	return 0;
no_memory:
	djs_contexts_exit();
	return -ENOMEM;
}

void djs_contexts_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct djs_ctx *contexts = per_cpu(djs_cpu, cpu).contexts;

		if (contexts)
			kvfree(contexts[0].scratch);
		kfree(contexts);
		per_cpu(djs_cpu, cpu).contexts = NULL;
	}
	kvfree(djs_session_ctx.scratch);
	djs_session_ctx.scratch = NULL;
}

#define INTERRUPT_MASK (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)

static __always_inline unsigned int level_of(unsigned int count)
{
	return count & NMI_MASK		? DJS_LEVEL_NMI
	       : count & HARDIRQ_MASK	? 2
	       : count & SOFTIRQ_OFFSET ? 1
					: 0;
}

static __always_inline void begin_use(struct djs_ctx *ctx, const struct djs_handler *handler,
				      const struct djs_site *site, u32 busy)
{
	ctx->busy = busy;
	barrier(); /* an interrupt of this level from here on finds it busy */
	ctx->handler = handler;
	ctx->site = site;
	ctx->actions = handler->max_actions;
	ctx->nesting = 0;
}

static __always_inline struct djs_ctx *begin_locked(struct djs_ctx *ctx,
						    const struct djs_handler *handler,
						    const struct djs_site *site,
						    unsigned long irq_flags)
{
	begin_use(ctx, handler, site, 2);
	ctx->irq_flags = irq_flags;
	ctx->locks_held = handler->lock_count;
	return ctx;
}

static DJS_HANDLER_CODE void skip_locked(void)
{
	this_cpu_inc(djs_cpu.skipped_locked);
	if (atomic_inc_return(&djs_locked_skips) == djs_script.max_skipped + 1)
		djs_request_exit(true);
}

/* Several locks, or one that is not free. Not to be had in time: skipped, and counted. */
static noinline DJS_HANDLER_CODE struct djs_ctx *enter_contended(const struct djs_handler *handler,
								 const struct djs_site *site,
								 struct djs_ctx *ctx,
								 unsigned long irq_flags)
{
	if (djs_locks_take(handler, ctx->level == DJS_LEVEL_NMI))
		return begin_locked(ctx, handler, site, irq_flags);
	raw_local_irq_restore(irq_flags);
	ctx->busy = 0;
	skip_locked();
	preempt_enable_notrace();
	return NULL;
}

/* The way in for handlers with locks. `ctx` is free, and preemption is off. */
static noinline DJS_HANDLER_CODE struct djs_ctx *
enter_locked(const struct djs_handler *handler, const struct djs_site *site, struct djs_ctx *ctx)
{
	unsigned long irq_flags;

	ctx->busy = 2;
	barrier(); /* an interrupt of this level from here on finds it busy */
	raw_local_irq_save(irq_flags);
	if (unlikely(!djs_locks_take_quickly(handler)))
		return enter_contended(handler, site, ctx, irq_flags);
	return begin_locked(ctx, handler, site, irq_flags);
}

/* The rarer ways in. Preemption is off. */
static noinline DJS_HANDLER_CODE struct djs_ctx *enter_slow(const struct djs_handler *handler,
							    const struct djs_site *site)
{
	unsigned int level = level_of(preempt_count());
	struct djs_ctx *ctx = this_cpu_read(djs_cpu.contexts) + level;

	if (handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF)
		goto out;
	if (ctx->busy) {
		this_cpu_inc(djs_cpu.skipped_busy);
		goto out;
	}
	if (handler->flags & DJS_HANDLER_IRQS_OFF)
		return enter_locked(handler, site, ctx);
	begin_use(ctx, handler, site, 1);
	return ctx;
out:
	preempt_enable_notrace();
	return NULL;
}

DJS_HANDLER_CODE struct djs_ctx *djs_enter(const struct djs_handler *handler,
					   const struct djs_site *site)
{
	bool interrupt = preempt_count() & INTERRUPT_MASK;
	struct djs_ctx *ctx;
	u32 stop;

	preempt_disable_notrace();
	if (unlikely(interrupt))
		return enter_slow(handler, site);
	ctx = this_cpu_read(djs_cpu.contexts);
	stop = ctx->busy << 3 | (handler->flags & READ_ONCE(djs_gate));
	if (stop) {
		if (likely(stop == DJS_HANDLER_IRQS_OFF))
			return enter_locked(handler, site, ctx);
		return enter_slow(handler, site);
	}
	begin_use(ctx, handler, site, 1);
	return ctx;
}

/* True where a handler with a context holds locks on this CPU: it was interrupted, or what it calls
 * is probed, and cannot go on before this one is done. Interrupts are off. */
static DJS_HANDLER_CODE bool locks_held_here(void)
{
	const struct djs_ctx *contexts = this_cpu_read(djs_cpu.contexts);
	unsigned int level;

	for (level = 0; level < DJS_LEVELS; level++)
		if (contexts[level].busy == 2)
			return true;
	return false;
}

static noinline DJS_HANDLER_CODE u64 lock_enter_contended(const struct djs_handler *handler,
							  unsigned long irq_flags)
{
	bool held = locks_held_here();

	if (djs_locks_take(handler, held || in_nmi()))
		return irq_flags | X86_EFLAGS_FIXED;
	raw_local_irq_restore(irq_flags);
	if (held)
		this_cpu_inc(djs_cpu.skipped_busy);
	else
		skip_locked();
	return 0;
}

DJS_HANDLER_CODE u64 djs_lock_enter(const struct djs_handler *handler)
{
	unsigned long irq_flags;

	if (unlikely(handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF))
		return 0;
	raw_local_irq_save(irq_flags);
	if (unlikely(!djs_locks_take_quickly(handler)))
		return lock_enter_contended(handler, irq_flags);
	return irq_flags | X86_EFLAGS_FIXED; /* set in every processor's flags: never 0 */
}

/* Apart from the short path, which saves no register for it. */
static noinline DJS_HANDLER_CODE void lock_leave_several(const struct djs_handler *handler,
							 unsigned long irq_flags)
{
	djs_locks_release(handler);
	raw_local_irq_restore(irq_flags);
}

DJS_HANDLER_CODE void djs_lock_leave(const struct djs_handler *handler, u64 flags)
{
	if (likely(djs_locks_release_quickly(handler)))
		raw_local_irq_restore((unsigned long)flags);
	else
		lock_leave_several(handler, (unsigned long)flags);
}

/* A context of its own, on the stack: that of the CPU may be another handler's. */
noinline DJS_HANDLER_CODE void djs_fail_alone(const char *message, u32 place)
{
	struct djs_ctx ctx = {.error = message, .error_place = place};

	preempt_disable_notrace();
	djs_report_error(&ctx);
	preempt_enable_notrace();
}

static noinline DJS_HANDLER_CODE void leave_slow(struct djs_ctx *ctx)
{
	if (ctx->busy == 2) {
		unsigned long irq_flags = ctx->irq_flags;

		djs_locks_release(ctx->handler);
		ctx->locks_held = 0;
		raw_local_irq_restore(irq_flags);
	}
	if (ctx->error) {
		djs_report_error(ctx);
		ctx->error = NULL;
	}
	barrier();
	ctx->busy = 0;
	preempt_enable_notrace();
}

DJS_HANDLER_CODE void djs_leave(struct djs_ctx *ctx)
{
	if (ctx->busy == 2 && likely(!ctx->error) &&
	    likely(djs_locks_release_quickly(ctx->handler))) {
		unsigned long irq_flags = ctx->irq_flags;

		ctx->locks_held = 0;
		ctx->busy = 0;
		raw_local_irq_restore(irq_flags);
		preempt_enable_notrace();
		return;
	}
	if (unlikely(ctx->busy != 1 || ctx->error)) {
		leave_slow(ctx);
		return;
	}
	barrier();
	ctx->busy = 0;
	preempt_enable_notrace();
}

DJS_HANDLER_CODE void djs_fail(struct djs_ctx *ctx, const char *message, u32 place)
{
	if (ctx->error)
		return;
	ctx->error = message;
	ctx->error_place = place;
}

DJS_HANDLER_CODE void djs_run_handler(const struct djs_handler *handler,
				      const struct djs_site *site, struct pt_regs *regs)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (!ctx)
		return;
	ctx->regs = regs;
	ctx->user_regs = regs && user_mode(regs);
	ctx->address = site ? site->address + djs_site_slide(site) : 0;
	handler->body(ctx);
	ctx->regs = NULL; /* direct handlers share the context and have none */
	ctx->user_regs = 0;
	djs_leave(ctx);
}
