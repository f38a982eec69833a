/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts, in which handlers run, and handlers that run in a task. */
#ifndef DJSTAP_CONTEXT_H
#define DJSTAP_CONTEXT_H

#include "state/state.h"

extern atomic_t djs_locked_skips;
int djs_contexts_init(void);
void djs_contexts_exit(void);
void djs_deferred_init(void); /* raise() and printk() */
/* Waits for what handlers have deferred. None runs any more. */
void djs_deferred_finish(void);
/* The context has its own memory, which kvfree(ctx->scratch) frees. */
int djs_context_make(struct djs_ctx *ctx);

/* Handlers with DJS_HANDLER_IN_TASK (context/task.c). */
int djs_tasks_init(void);
void djs_tasks_exit(void);
/* Allocates what an interrupt starts: the handler of its site, in a task. NULL: no memory. */
struct djs_job *djs_job_make(const struct djs_site *site);
/* Any context but an NMI. If the handler is still running or queued for an earlier hit, this one is
 * counted as skipped. */
void djs_job_start(struct djs_job *job);
/* Waits until the job has finished. */
void djs_job_free(struct djs_job *job);
/* Runs such a handler in this task; `prepare` is called before its body. False: it must not run. */
bool djs_run_in_task(const struct djs_handler *handler, const struct djs_site *site,
		     void (*prepare)(struct djs_ctx *ctx, void *data), void *data);

/* Runs the handler's body for a hit of a mechanism other than the direct call. */
void djs_run_handler(const struct djs_handler *handler, const struct djs_site *site,
		     struct pt_regs *regs);
/* The same for a hit at an address that depends on the process. */
void djs_run_handler_at(const struct djs_handler *handler, const struct djs_site *site,
			struct pt_regs *regs, unsigned long address);

/* Enclose a handler that starts with interrupts disabled, which the sampling timer cannot see, and
 * count its time. False: not counted, because the handler that it interrupted is, or because
 * nothing is. */
bool djs_overload_begin(void);
void djs_overload_end(const struct djs_handler *handler);
/* `take_out` is called in a task for a handler, or for trampoline `owner` - handler_count, that
 * occupied a CPU for `percent` of the time. */
void djs_overload_start(void (*take_out)(u32 owner, u32 percent));
void djs_overload_stop(void);

#endif
