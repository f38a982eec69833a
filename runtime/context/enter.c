// SPDX-License-Identifier: GPL-2.0-or-later
// Contexts, which handlers work in. There is one for each CPU and level of interruption: a hit in
// an interrupt is handled although it interrupts a handler, but a hit inside a handler of the same
// level is skipped.
#include <linux/mm.h>
#include <linux/slab.h>

#include "arch/runtime.h"
#include "context/context.h"
#include "cpu/level.h"
#include "cpu/memory.h"
#include "cpu/stack.h"
#include "globals/globals.h"
#include "globals/locks.h"
#include "sites/sites.h"

atomic_t djs_locked_skips = ATOMIC_INIT(0);

/* A context's memory: the script's scratch, then the runtime's work area. */
static size_t scratch_bytes(void)
{
	return ALIGN(max_t(size_t, djs_script.scratch_bytes, 8), 64);
}

static size_t memory_bytes(void)
{
	return scratch_bytes() + djs_work_bytes();
}

static void context_init(struct djs_ctx *ctx, u32 level, char *memory)
{
	ctx->level = level;
	ctx->scratch = memory;
	djs_work_init(ctx, memory + scratch_bytes());
}

int djs_context_make(struct djs_ctx *ctx)
{
	char *memory = kvzalloc(memory_bytes(), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	context_init(ctx, DJS_LEVEL_SESSION, memory);
	return 0;
}

int djs_contexts_init(void)
{
	unsigned int cpu, level;
	char *memory;

	if (!djs_memory_allows(num_possible_cpus() * DJS_LEVELS * (u64)memory_bytes()) ||
	    djs_context_make(&djs_session_ctx))
		return -ENOMEM;
	djs_session_ctx.can_wait = 1;
	djs_session_ctx.rests = DJS_RESTS_ALONE;
	if (djs_tasks_init())
		goto no_memory;
	for_each_possible_cpu (cpu) {
		struct djs_ctx *contexts;

		contexts =
		    kcalloc_node(DJS_LEVELS, sizeof(*contexts), GFP_KERNEL, cpu_to_node(cpu));
		per_cpu(djs_cpu, cpu).contexts = contexts;
		per_cpu(djs_cpu, cpu).variables = per_cpu_offset(cpu);
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

	djs_tasks_exit();
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

static_assert(offsetof(struct djs_ctx, nesting) == offsetof(struct djs_ctx, actions) + 4 &&
	      offsetof(struct djs_ctx, actions) % 8 == 0);

/* `ctx` is busy. The sampling timer reads its handler from an interrupt. */
static __always_inline void begin_use(struct djs_ctx *ctx, const struct djs_handler *handler,
				      const struct djs_site *site)
{
	WRITE_ONCE(ctx->handler, handler);
	ctx->site = site;
	*(u64 *)&ctx->actions = handler->max_actions; /* also clears nesting */
}

static __always_inline struct djs_ctx *begin_unlocked(struct djs_ctx *ctx,
						      const struct djs_handler *handler,
						      const struct djs_site *site, u32 timed)
{
	WRITE_ONCE(ctx->busy, DJS_BUSY_UNLOCKED | timed);
	barrier(); /* from here on an interrupt of this level finds the context busy */
	begin_use(ctx, handler, site);
	return ctx;
}

static __always_inline struct djs_ctx *begin_locked(struct djs_ctx *ctx,
						    const struct djs_handler *handler,
						    const struct djs_site *site,
						    unsigned long irq_flags, u32 locks)
{
	begin_use(ctx, handler, site);
	ctx->irq_flags = irq_flags;
	ctx->locks_held = locks;
	return ctx;
}

static DJS_HANDLER_CODE void skip_locked(void)
{
	this_cpu_inc(djs_cpu.skipped_locked);
	if (atomic_inc_return(&djs_locked_skips) == djs_script.max_skipped + 1)
		djs_request_exit(true);
}

static DJS_HANDLER_CODE u32 begin_time(void)
{
	return djs_overload_begin() ? DJS_BUSY_TIMED : 0;
}

/*
 * Takes several locks, or one that is not free. If that takes too long, the hit is skipped and
 * counted.
 */
static noinline DJS_HANDLER_CODE struct djs_ctx *enter_contended(const struct djs_handler *handler,
								 const struct djs_site *site,
								 struct djs_ctx *ctx,
								 unsigned long irq_flags)
{
	bool held = this_cpu_read(djs_cpu.locked_alone);

	if (djs_locks_take(handler, held || ctx->level == DJS_LEVEL_NMI))
		return begin_locked(ctx, handler, site, irq_flags, handler->lock_count);
	if (ctx->busy & DJS_BUSY_TIMED)
		djs_overload_end(handler);
	WRITE_ONCE(ctx->busy, 0);
	raw_local_irq_restore(irq_flags);
	if (held)
		this_cpu_inc(djs_cpu.skipped_busy);
	else
		skip_locked();
	preempt_enable_notrace();
	return NULL;
}

/* For handlers that start with interrupts disabled; without and with locks. */
static noinline DJS_HANDLER_CODE struct djs_ctx *
begin_irqs_off(const struct djs_handler *handler, const struct djs_site *site, struct djs_ctx *ctx)
{
	return begin_unlocked(ctx, handler, site, begin_time());
}

static noinline DJS_HANDLER_CODE struct djs_ctx *
enter_irqs_off(const struct djs_handler *handler, const struct djs_site *site, struct djs_ctx *ctx)
{
	WRITE_ONCE(ctx->busy, ctx->busy | begin_time());
	if (unlikely(!djs_locks_take_quickly(handler)))
		return enter_contended(handler, site, ctx, 0);
	return begin_locked(ctx, handler, site, 0, 1);
}

/* The entry path for handlers with locks. `ctx` is free, and preemption is disabled. Of the
 * processor's flags it keeps only whether interrupts were enabled, which follows from the path
 * taken. The context says that locks are held only while interrupts are disabled: a handler that
 * interrupts this one would not wait for them (locks_held_here). */
static noinline DJS_HANDLER_CODE struct djs_ctx *
enter_locked(const struct djs_handler *handler, const struct djs_site *site, struct djs_ctx *ctx)
{
	if (unlikely(raw_irqs_disabled())) {
		WRITE_ONCE(ctx->busy, DJS_BUSY_LOCKED);
		barrier(); /* from here on an NMI of this level finds the context busy */
		return enter_irqs_off(handler, site, ctx);
	}
	raw_local_irq_disable();
	WRITE_ONCE(ctx->busy, DJS_BUSY_LOCKED);
	barrier();
	if (unlikely(!djs_locks_take_quickly(handler)))
		return enter_contended(handler, site, ctx, DJS_IRQS_ON);
	return begin_locked(ctx, handler, site, DJS_IRQS_ON, 1);
}

DJS_HANDLER_CODE u32 djs_lacks_stack(u32 bytes)
{
	if (djs_stack_left() >= bytes)
		return 0;
	this_cpu_inc(djs_cpu.skipped_stack);
	return 1;
}

/* The less common entry paths. Preemption is disabled. */
static noinline DJS_HANDLER_CODE struct djs_ctx *enter_slow(const struct djs_handler *handler,
							    const struct djs_site *site)
{
	unsigned int level = djs_level();
	struct djs_ctx *ctx = this_cpu_read(djs_cpu.contexts) + level;

	if (handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF)
		goto out;
	if (READ_ONCE(ctx->busy)) {
		this_cpu_inc(djs_cpu.skipped_busy);
		goto out;
	}
	if (unlikely(djs_lacks_stack(handler->stack)))
		goto out;
	if (handler->flags & DJS_HANDLER_IRQS_OFF)
		return enter_locked(handler, site, ctx);
	return begin_unlocked(ctx, handler, site, raw_irqs_disabled() ? begin_time() : 0);
out:
	preempt_enable_notrace();
	return NULL;
}

DJS_HANDLER_CODE struct djs_ctx *djs_enter(const struct djs_handler *handler,
					   const struct djs_site *site)
{
	bool interrupt = preempt_count() & DJS_INTERRUPT_MASK;
	struct djs_ctx *ctx;
	u32 stop;

	preempt_disable_notrace();
	if (unlikely(interrupt || !djs_stack_is_ample()))
		return enter_slow(handler, site);
	ctx = this_cpu_read(djs_cpu.contexts);
	/* An interrupt in between that takes the same context has given it back. */
	stop = data_race(ctx->busy) | (handler->flags & READ_ONCE(djs_gate));
	if (stop) {
		if (likely(stop == DJS_HANDLER_IRQS_OFF))
			return enter_locked(handler, site, ctx);
		return enter_slow(handler, site);
	}
	if (unlikely(raw_irqs_disabled()))
		return begin_irqs_off(handler, site, ctx);
	return begin_unlocked(ctx, handler, site, 0);
}

/* True if a handler holds locks on this CPU: it was interrupted, or calls a probed function, and
 * cannot continue before this one has finished. Interrupts are disabled. A handler without a
 * context that calls nothing does not say so: only an NMI can find its locks, and tries once. */
static DJS_HANDLER_CODE bool locks_held_here(void)
{
	const struct djs_ctx *contexts = this_cpu_read(djs_cpu.contexts);
	unsigned int level;

	if (this_cpu_read(djs_cpu.locked_alone))
		return true;
	for (level = 0; level < DJS_LEVELS; level++)
		if (contexts[level].busy & DJS_BUSY_LOCKED)
			return true;
	return false;
}

/* In the return value of djs_lock_enter: the handler counts its own time. */
#define LOCKED_TIMED BIT_ULL(63)

static noinline DJS_HANDLER_CODE u64 lock_enter_contended(const struct djs_handler *handler,
							  unsigned long irq_flags)
{
	bool held = locks_held_here();

	if (djs_locks_take(handler, held || djs_in_nmi()))
		return irq_flags | DJS_IRQS_OFF; /* never 0 */
	raw_local_irq_restore(irq_flags);
	if (held)
		this_cpu_inc(djs_cpu.skipped_busy);
	else
		skip_locked();
	return 0;
}

/* Interrupts were disabled before. */
static noinline DJS_HANDLER_CODE u64 lock_enter_irqs_off(const struct djs_handler *handler)
{
	u64 timed = djs_overload_begin() ? LOCKED_TIMED : 0;

	if (likely(djs_locks_take_quickly(handler) || lock_enter_contended(handler, 0)))
		return timed | DJS_IRQS_OFF; /* never 0 */
	if (timed)
		djs_overload_end(handler);
	return 0;
}

DJS_HANDLER_CODE u64 djs_lock_wait(const struct djs_handler *handler)
{
	return lock_enter_contended(handler, DJS_IRQS_ON);
}

/* Never yields DJS_IRQS_ON alone: what this takes, djs_lock_leave releases, and a handler that took
 * its lock itself knows it by that value. Like enter_locked, it keeps only whether interrupts were
 * enabled. */
DJS_HANDLER_CODE u64 djs_lock_enter(const struct djs_handler *handler)
{
	if (unlikely(handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF))
		return 0;
	/* Without this, a clock's handler that reads the clock would never end. */
	if (unlikely(this_cpu_read(djs_cpu.locked_alone))) {
		this_cpu_inc(djs_cpu.skipped_busy);
		return 0;
	}
	if (unlikely(raw_irqs_disabled()))
		return lock_enter_irqs_off(handler);
	raw_local_irq_disable();
	if (unlikely(!djs_locks_take_quickly(handler)))
		return lock_enter_contended(handler, DJS_IRQS_ON);
	return DJS_IRQS_ON | DJS_IRQS_OFF;
}

/* Separate from the short path, which saves no register for this. */
static noinline DJS_HANDLER_CODE void lock_left_irqs_off(const struct djs_handler *handler,
							 u64 flags)
{
	if (flags & LOCKED_TIMED)
		djs_overload_end(handler);
}

static noinline DJS_HANDLER_CODE void lock_leave_several(const struct djs_handler *handler,
							 u64 flags)
{
	djs_locks_release(handler);
	lock_left_irqs_off(handler, flags);
	raw_local_irq_restore((unsigned long)flags);
}

DJS_HANDLER_CODE void djs_lock_leave(const struct djs_handler *handler, u64 flags)
{
	if (unlikely(!djs_locks_release_quickly(handler)))
		lock_leave_several(handler, flags);
	else if (likely(flags & DJS_IRQS_ON))
		raw_local_irq_enable();
	else
		lock_left_irqs_off(handler, flags);
}

/* Uses a context of its own, on the stack: another handler may be using that of the CPU. */
noinline DJS_HANDLER_CODE void djs_fail_alone(const char *message, u32 place)
{
	struct djs_ctx ctx = {.error = message, .error_place = place};

	preempt_disable_notrace();
	djs_report_error(&ctx);
	preempt_enable_notrace();
}

static noinline DJS_HANDLER_CODE void leave_slow(struct djs_ctx *ctx)
{
	if (ctx->busy & DJS_BUSY_LOCKED) {
		unsigned long irq_flags = ctx->irq_flags;

		djs_locks_release(ctx->handler);
		ctx->locks_held = 0;
		WRITE_ONCE(ctx->busy, (ctx->busy & ~DJS_BUSY_LOCKED) | DJS_BUSY_UNLOCKED);
		raw_local_irq_restore(irq_flags);
	}
	if (ctx->error) {
		djs_report_error(ctx);
		ctx->error = NULL;
	}
	if (ctx->busy & DJS_BUSY_TIMED)
		djs_overload_end(ctx->handler);
	barrier();
	WRITE_ONCE(ctx->busy, 0);
	preempt_enable_notrace();
}

DJS_HANDLER_CODE void djs_leave(struct djs_ctx *ctx)
{
	if (likely(ctx->busy == DJS_BUSY_UNLOCKED && !ctx->error)) {
		barrier();
		WRITE_ONCE(ctx->busy, 0);
		preempt_enable_notrace();
		return;
	}
	if (ctx->busy == DJS_BUSY_LOCKED && likely(!ctx->error) &&
	    likely(djs_locks_release_quickly(ctx->handler))) {
		unsigned long irq_flags = ctx->irq_flags;

		ctx->locks_held = 0;
		WRITE_ONCE(ctx->busy, 0);
		raw_local_irq_restore(irq_flags);
		preempt_enable_notrace();
		return;
	}
	leave_slow(ctx);
}

DJS_HANDLER_CODE void djs_fail(struct djs_ctx *ctx, const char *message, u32 place)
{
	if (ctx->error)
		return;
	ctx->error = message;
	ctx->error_place = place;
}

static __always_inline void run_handler_of(const struct djs_handler *handler,
					   const struct djs_site *site, struct pt_regs *regs,
					   unsigned long address)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (!ctx)
		return;
	ctx->regs = regs;
	ctx->user_regs = regs && user_mode(regs);
	ctx->address = address;
	handler->body(ctx);
	ctx->regs = NULL; /* direct handlers share the context and have none */
	ctx->user_regs = 0;
	djs_leave(ctx);
}

DJS_HANDLER_CODE void djs_run_handler(const struct djs_handler *handler,
				      const struct djs_site *site, struct pt_regs *regs)
{
	run_handler_of(handler, site, regs, site ? site->address + djs_site_bias(site) : 0);
}

DJS_HANDLER_CODE void djs_run_handler_at(const struct djs_handler *handler,
					 const struct djs_site *site, struct pt_regs *regs,
					 unsigned long address)
{
	run_handler_of(handler, site, regs, address);
}
