// SPDX-License-Identifier: GPL-2.0-or-later
// Contexts, which handlers work in. There is one for each CPU and one for begin and end probes;
// handlers cannot interrupt each other here, so there are no levels.
#include "context/context.h"
#include "globals/globals.h"
#include "globals/locks.h"
#include "userspace/internal.h"

atomic_t djs_locked_skips = ATOMIC_INIT(0);

static size_t scratch_bytes(void)
{
	return ALIGN(max_t(size_t, djs_script.scratch_bytes, 8), 64);
}

/* The script's scratch memory, then the runtime's work area. */
static int context_init(struct djs_ctx *ctx, u32 level)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->level = level;
	ctx->rests = DJS_RESTS_ALONE;
	ctx->scratch = djs_user_zeroed(1, scratch_bytes() + djs_work_bytes());
	if (!ctx->scratch)
		return -ENOMEM;
	djs_work_init(ctx, ctx->scratch + scratch_bytes());
	return 0;
}

int djs_contexts_init(void)
{
	int error = context_init(&djs_session_ctx, DJS_LEVEL_SESSION);
	u32 i;

	djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
	djs_locked_skips.counter = 0;
	for (i = 0; i < djs_user_cpus && !error; i++) {
		djs_cpu[i].contexts = djs_user_zeroed(1, sizeof(struct djs_ctx));
		error = djs_cpu[i].contexts ? context_init(djs_cpu[i].contexts, 0) : -ENOMEM;
	}
	if (error)
		djs_contexts_exit();
	return error;
}

void djs_contexts_exit(void)
{
	u32 i;

	for (i = 0; i < djs_user_cpus; i++) {
		if (djs_cpu[i].contexts)
			free(djs_cpu[i].contexts->scratch);
		free(djs_cpu[i].contexts);
		djs_cpu[i].contexts = NULL;
	}
	free(djs_session_ctx.scratch);
	djs_session_ctx.scratch = NULL;
}

static bool is_shut(const struct djs_handler *handler)
{
	return handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF;
}

static bool take_locks(const struct djs_handler *handler)
{
	if (likely(djs_locks_take_quickly(handler)) || djs_locks_take(handler, false))
		return true;
	djs_cpu[djs_user_cpu].skipped_locked++;
	if (atomic_inc_return(&djs_locked_skips) == (int)djs_script.max_skipped + 1)
		djs_request_exit(true);
	return false;
}

static void release_locks(const struct djs_handler *handler)
{
	if (!djs_locks_release_quickly(handler))
		djs_locks_release(handler);
}

struct djs_ctx *djs_enter(const struct djs_handler *handler, const struct djs_site *site)
{
	struct djs_ctx *ctx = djs_cpu[djs_user_cpu].contexts;

	if (is_shut(handler) || !take_locks(handler))
		return NULL;
	ctx->handler = handler;
	ctx->site = site;
	ctx->actions = (s32)handler->max_actions;
	ctx->nesting = 0;
	ctx->locks_held = handler->lock_count;
	return ctx;
}

void djs_leave(struct djs_ctx *ctx)
{
	release_locks(ctx->handler);
	ctx->locks_held = 0;
	if (ctx->error) {
		djs_report_error(ctx);
		ctx->error = NULL;
	}
}

u64 djs_lock_enter(const struct djs_handler *handler)
{
	return !is_shut(handler) && take_locks(handler);
}

void djs_lock_leave(const struct djs_handler *handler, u64 flags)
{
	(void)flags;
	release_locks(handler);
}
