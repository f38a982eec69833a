// SPDX-License-Identifier: GPL-2.0-or-later
// Contexts, which handlers work in. There are several for each slot: a signal may interrupt a
// handler and hit a probe, which then takes the next one. A thread that waits for a lock lets the
// others run: whoever holds it may not be running. It does not wait for itself.
#include "context/context.h"
#include "globals/globals.h"
#include "globals/locks.h"
#include "injected/internal.h"
#include "userspace/internal.h"

atomic_t djs_locked_skips = ATOMIC_INIT(0);

#define PATIENCE_NS 1000000000ull /* a holder that a longjmp took away never releases its lock */
static bool out_of_patience;

static size_t scratch_bytes(void)
{
	return ALIGN(max_t(size_t, djs_script.scratch_bytes, 8), 64);
}

/* The script's scratch memory, then the runtime's work area. */
static int context_init(struct djs_ctx *ctx, u32 level)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->level = level;
	ctx->scratch = djs_arena_allocate(scratch_bytes() + djs_work_bytes());
	if (!ctx->scratch)
		return -ENOMEM;
	djs_work_init(ctx, ctx->scratch + scratch_bytes());
	return 0;
}

int djs_contexts_init(void)
{
	int error = context_init(&djs_session_ctx, DJS_LEVEL_SESSION);
	u32 i, level;

	djs_session_ctx.rests = DJS_RESTS_ALONE;
	djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
	for (i = 0; i < djs_user_cpus && !error; i++) {
		djs_cpu[i].contexts = djs_arena_allocate(DJS_LEVELS * sizeof(struct djs_ctx));
		error = djs_cpu[i].contexts ? 0 : -ENOMEM;
		for (level = 0; level < DJS_LEVELS && !error; level++)
			error = context_init(&djs_cpu[i].contexts[level], level);
	}
	return error;
}

/* The arena is freed as a whole. */
void djs_contexts_exit(void)
{
}

static bool is_shut(const struct djs_handler *handler)
{
	return handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF;
}

static noinline bool wait_for_locks(const struct djs_handler *handler)
{
	u64 until = djs_user_now() + PATIENCE_NS;

	while (!READ_ONCE(out_of_patience)) {
		djs_syscall6(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
		if (djs_locks_take(handler, false))
			return true;
		if (is_shut(handler))
			return false;
		if (djs_user_now() >= until)
			WRITE_ONCE(out_of_patience, true);
	}
	return djs_locks_take(handler, false);
}

static bool take_locks(const struct djs_handler *handler, const struct djs_thread_slot *slot)
{
	struct djs_cpu *cpu;

	if (!handler->lock_count || likely(djs_locks_take_quickly(handler)))
		return true;
	/* What this thread has interrupted may hold the lock. */
	if (djs_locks_take(handler, slot->active > 1))
		return true;
	if (slot->active <= 1) {
		if (wait_for_locks(handler))
			return true;
		if (is_shut(handler)) /* the script has ended meanwhile */
			return false;
	}
	cpu = &djs_cpu[slot->number];
	if (slot->active > 1) {
		cpu->skipped_busy++;
		return false;
	}
	cpu->skipped_locked++;
	if (atomic_inc_return(&djs_locked_skips) == (int)djs_script.max_skipped + 1)
		djs_request_exit(true);
	return false;
}

static void release_locks(const struct djs_handler *handler)
{
	if (handler->lock_count && !djs_locks_release_quickly(handler))
		djs_locks_release(handler);
}

struct djs_ctx *djs_enter(const struct djs_handler *handler, const struct djs_site *site)
{
	struct djs_thread_slot *slot = djs_slot_of_thread();
	struct djs_cpu *cpu = &djs_cpu[slot->number];
	struct djs_ctx *ctx = cpu->contexts, *end = ctx + DJS_LEVELS;

	if (is_shut(handler))
		return NULL;
	while (ctx < end && READ_ONCE(ctx->busy))
		ctx++;
	if (unlikely(ctx == end)) {
		cpu->skipped_busy++;
		return NULL;
	}
	WRITE_ONCE(ctx->busy, DJS_BUSY_UNLOCKED);
	WRITE_ONCE(slot->active, slot->active + 1);
	barrier(); /* from here on a signal's handler takes the next one */
	if (!take_locks(handler, slot)) {
		WRITE_ONCE(slot->active, slot->active - 1);
		WRITE_ONCE(ctx->busy, 0);
		return NULL;
	}
	ctx->handler = handler;
	ctx->site = site;
	ctx->actions = (s32)handler->max_actions;
	ctx->nesting = 0;
	ctx->locks_held = handler->lock_count;
	return ctx;
}

void djs_leave(struct djs_ctx *ctx)
{
	struct djs_thread_slot *slot = djs_slot_of_thread();

	release_locks(ctx->handler);
	ctx->locks_held = 0;
	if (ctx->error) {
		djs_report_error(ctx);
		ctx->error = NULL;
	}
	barrier();
	WRITE_ONCE(slot->active, slot->active - 1);
	WRITE_ONCE(ctx->busy, 0);
}

u64 djs_lock_enter(const struct djs_handler *handler)
{
	struct djs_thread_slot *slot = djs_slot_of_thread();

	if (is_shut(handler))
		return 0;
	WRITE_ONCE(slot->active, slot->active + 1);
	barrier();
	if (take_locks(handler, slot))
		return 1;
	WRITE_ONCE(slot->active, slot->active - 1);
	return 0;
}

void djs_lock_leave(const struct djs_handler *handler, u64 flags)
{
	struct djs_thread_slot *slot = djs_slot_of_thread();

	(void)flags;
	release_locks(handler);
	barrier();
	WRITE_ONCE(slot->active, slot->active - 1);
}

/* A thread that was canceled in a handler has left it. */
void djs_contexts_reset(u32 slot)
{
	struct djs_ctx *ctx = djs_cpu[slot].contexts;
	u32 level;

	for (level = 0; level < DJS_LEVELS; level++)
		WRITE_ONCE(ctx[level].busy, 0);
	WRITE_ONCE(djs_slot_of(slot)->active, 0);
}

void djs_injected_gone(void)
{
	u32 i;

	for (i = 0; i < djs_script.lock_count; i++)
		djs_script.locks[i].holders = (atomic_t)ATOMIC_INIT(0);
	for (i = 1; i < djs_user_cpus; i++)
		WRITE_ONCE(djs_slot_of(i)->active, 0);
}

u32 djs_injected_settle(void)
{
	djs_session_close_gate();
	return djs_slots_active();
}
