/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts, which handlers run in, and handlers that run in a task. */
#ifndef DJSTAP_CONTEXT_H
#define DJSTAP_CONTEXT_H

#include "state/state.h"

extern atomic_t djs_locked_skips;
int djs_contexts_init(void);
void djs_contexts_exit(void);
/* With memory for itself alone, which kvfree(ctx->scratch) gives back. */
int djs_context_make(struct djs_ctx *ctx);

/* Handlers with DJS_HANDLER_IN_TASK (context/task.c). */
int djs_tasks_init(void);
void djs_tasks_exit(void);
/* What an interrupt starts: its site's handler, in a task. NULL: no memory. */
struct djs_job *djs_job_make(const struct djs_site *site);
/* Any context but an NMI. Counted as skipped while the handler runs, or waits, for an earlier one.
 */
void djs_job_start(struct djs_job *job);
/* Waits until it does not run any more. */
void djs_job_free(struct djs_job *job);
/* Runs such a handler in this task; `prepare` is called before its body. False: it may not run. */
bool djs_run_in_task(const struct djs_handler *handler, const struct djs_site *site,
		     void (*prepare)(struct djs_ctx *ctx, void *data), void *data);

/* Runs `body` for a hit that a mechanism other than the direct call caught. */
void djs_run_handler(const struct djs_handler *handler, const struct djs_site *site,
		     struct pt_regs *regs);

/* Around a handler that finds interrupts off, which the timer that samples cannot see: its time is
 * counted. False: it is not, because a handler is that it interrupted, or none is to be. */
bool djs_overload_begin(void);
void djs_overload_end(const struct djs_handler *handler);
/* `take_out` is called in a task for a handler, or for the target `owner` - handler_count, that had
 * a CPU for `percent` of the time. */
void djs_overload_start(void (*take_out)(u32 owner, u32 percent));
void djs_overload_stop(void);

#endif
