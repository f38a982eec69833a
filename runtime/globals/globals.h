/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A script's globals and their locks. */
#ifndef DJSTAP_GLOBALS_H
#define DJSTAP_GLOBALS_H

#include "cpu/cpu.h"

int djs_globals_init(void);
void djs_globals_exit(void);
/* Returns zeroed memory, for vfree. NULL instead of invoking the OOM killer. */
void *djs_allocate(u64 bytes);
int djs_iterators_init(void);
void djs_iterators_exit(void);
/* Called when a handler in a task ends, with its locks held: ends its walks. */
void djs_end_walks(void);
/* Takes all of a handler's locks, or none: false after max_trylock tries (one try in an NMI). */
bool djs_locks_take(const struct djs_handler *handler, bool nmi);
void djs_locks_release(const struct djs_handler *handler);

/* Yields the CPU, and releases the handler's locks meanwhile if other handlers may run
 * (ctx->rests). In a killed process, a begin or end probe gets an error. */
void djs_rest(struct djs_ctx *ctx);
/* Take and release the locks of a handler that runs in a task (DJS_HANDLER_IN_TASK). While they are
 * held, this CPU's context for tasks is in use. */
void djs_task_lock(struct djs_ctx *ctx);
void djs_task_unlock(struct djs_ctx *ctx);

#endif
