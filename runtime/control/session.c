// SPDX-License-Identifier: GPL-2.0-or-later
// The life of a session: begin probes, arming, disarming, end probes.
#include <linux/mutex.h>

#include "control/arming.h"
#include "control/mechanisms.h"
#include "globals/globals.h"

static DEFINE_MUTEX(session_life); /* one transition at a time */

/* The owner closed the file without DJS_IOC_STOP. */
void djs_session_abandoned(void)
{
	u32 state = READ_ONCE(djs_control->state);

	/* A flight recorder keeps running without an owner. */
	if (djs_overwrite && !READ_ONCE(djs_control->exit_requested))
		return;
	if (state == DJS_STATE_STARTING || state == DJS_STATE_RUNNING)
		djs_session_stop_soon();
}

/* Statements between two pauses of a begin, end or error probe. */
#define STATEMENTS_UNTIL_REST 10000

DJS_HANDLER_CODE u32 djs_more_actions(struct djs_ctx *ctx, u32 place)
{
	while (ctx->actions <= 0 && ctx->more_actions) {
		s32 more = min(ctx->more_actions, STATEMENTS_UNTIL_REST);

		djs_rest(ctx);
		if (ctx->error)
			return 0;
		ctx->more_actions -= more;
		ctx->actions += more;
	}
	if (ctx->actions <= 0)
		djs_fail(ctx, "MAXACTION exceeded", place);
	return ctx->actions > 0;
}

static void run_session_handler(const struct djs_handler *handler, const struct djs_site *site)
{
	struct djs_ctx *ctx = &djs_session_ctx;

	ctx->error = NULL;
	ctx->handler = handler;
	ctx->site = site;
	ctx->actions = min_t(s32, handler->max_actions, STATEMENTS_UNTIL_REST);
	ctx->more_actions = (s32)handler->max_actions - ctx->actions;
	ctx->nesting = 0;
	handler->body(ctx);
	ctx->more_actions = 0;
	if (ctx->error)
		djs_report_error(ctx);
	ctx->error = NULL;
}

static bool not_probed;

static bool has_handlers(enum djs_handler_kind kind)
{
	u32 i;

	for (i = 0; i < djs_script.handler_count; i++)
		if (djs_script.handlers[i].kind == kind)
			return true;
	return false;
}

/* After an exit no further begin probe runs, and after an end probe with too many errors no other
 * end probe. */
static bool is_over(enum djs_handler_kind kind, bool failed_before)
{
	return kind == DJS_HANDLER_BEGIN
		   ? djs_control->exit_requested
		   : kind == DJS_HANDLER_END && djs_control->error && !failed_before;
}

/* Nothing else runs at the same time, so these handlers take no locks and may sleep for room in the
 * ring. */
static void run_session_handlers(enum djs_handler_kind kind)
{
	bool failed_before = djs_control->error;
	s64 last = 0;	      /* priority, then number in the table, of the handler that ran last */
	bool is_first = true; /* the least priority of the first handler is S64_MIN */
	u32 number, i;

	for (;;) {
		const struct djs_handler *handler = NULL;
		s64 best = S64_MAX;
		bool ran = false;

		for (number = 0; number < djs_script.handler_count; number++) {
			const struct djs_handler *candidate = &djs_script.handlers[number];
			s64 rank;

			/* The arguments of other kinds of handlers are not priorities. */
			if (candidate->kind != kind)
				continue;
			rank =
			    (s64)candidate->arguments[DJS_SESSION_PRIORITY] * (1ll << 32) + number;
			if ((is_first || rank > last) && rank < best) {
				handler = candidate;
				best = rank;
			}
		}
		if (!handler)
			return;
		last = best;
		is_first = false;
		for (i = 0; i < djs_script.site_count; i++) {
			if (djs_script.sites[i].handler != handler - djs_script.handlers)
				continue;
			if (is_over(kind, failed_before))
				return;
			run_session_handler(handler, &djs_script.sites[i]);
			ran = true;
		}
		if (!ran && !is_over(kind, failed_before))
			run_session_handler(handler, NULL);
	}
}

static int start_locked(void)
{
	int error;

	if (djs_control->state != DJS_STATE_LOADED)
		return -EBUSY;
	djs_session_set_state(DJS_STATE_STARTING);
	run_session_handlers(DJS_HANDLER_BEGIN);
	if (djs_control->exit_requested)
		return 0; /* whoever requested the exit also stops the session */
	error = djs_sites_arm();
	not_probed = error != 0;
	if (error) {
		djs_session_message(DJS_RECORD_WARNING, "nothing is probed (error %d)", error);
		djs_request_exit(true);
		return error;
	}
	djs_session_set_state(DJS_STATE_RUNNING);
	WRITE_ONCE(djs_gate,
		   DJS_HANDLER_IRQS_OFF | (READ_ONCE(djs_gate) & DJS_GATE_NO_INLINE_LOCKS));
	smp_mb();
	if (READ_ONCE(djs_control->exit_requested))
		djs_session_close_gate();
	djs_mechanisms_begin();
	return 0;
}

int djs_session_start(void)
{
	int error;

	mutex_lock(&session_life);
	error = start_locked();
	mutex_unlock(&session_life);
	return error;
}

void djs_session_rearm(void)
{
	mutex_lock(&session_life);
	if (djs_control->state == DJS_STATE_RUNNING)
		djs_sites_rearm();
	mutex_unlock(&session_life);
}

static void stop_locked(void)
{
	switch (djs_control->state) {
	case DJS_STATE_STOPPED:
		return;
	case DJS_STATE_LOADED:
		djs_session_set_state(DJS_STATE_STOPPED);
		return;
	}
	djs_session_close_gate();
	djs_session_set_state(DJS_STATE_STOPPING);
	djs_sites_disarm();
	/* A script without error probes shows what it collected, unless nothing was probed. */
	if (!djs_control->error || !(not_probed || has_handlers(DJS_HANDLER_ERROR)))
		run_session_handlers(DJS_HANDLER_END);
	if (djs_control->error)
		run_session_handlers(DJS_HANDLER_ERROR);
	djs_session_set_state(DJS_STATE_STOPPED);
}

void djs_session_stop(void)
{
	mutex_lock(&session_life);
	stop_locked();
	mutex_unlock(&session_life);
}
