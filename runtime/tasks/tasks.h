/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tasks are made to do on their way to user mode, where they may sleep, and the moments when
 * they execute a program, are created, exit or make a system call.
 */
#ifndef DJSTAP_TASKS_H
#define DJSTAP_TASKS_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "include/platform.h"

struct tracepoint;

/* ---- works -----------------------------------------------------------------------------------
 *
 * A work is what one task does once, before it returns to user mode or when it exits. A task can
 * stay in the kernel for as long as it likes before it gets there, so nothing waits for a work that
 * has not begun: what is left of one when they are closed is 64 bytes, which the kernel frees in
 * place of the work.
 */

/* The works of one purpose. */
struct djs_works {
	void (*function)(void); /* runs in the task; may sleep, but is waited for */
	struct hlist_head free, added;
	u32 free_count;
	bool open, was_open;
	u32 running;
	atomic_t adding;
	wait_queue_head_t queue;
};
#define DJS_WORKS(what, name)                                                                      \
	struct djs_works name = {.function = what,                                                 \
				 .queue = __WAIT_QUEUE_HEAD_INITIALIZER((name).queue)}

/* From here on works may be added. Returns 0 or an error; -EOPNOTSUPP: this kernel has no works.
 * May sleep. */
int djs_works_open(struct djs_works *works);
/* Adds a work to a task that is current, is not running yet, or is kept by the caller, where the
 * kernel has locked nothing. If there is no memory, it is one of a few that are kept for this.
 * Returns 0; -ENOSPC: there are none; -ESRCH: the task exits, or the works are closed. */
int djs_works_add(struct djs_works *works, struct task_struct *task, gfp_t how);
/* The same for the current task in any context, by one of those few. -EBUSY: somebody else is
 * adding a work, perhaps whoever was interrupted. */
int djs_works_try(struct djs_works *works);
/* Afterwards the function is not running, and never will: it waits for tasks in which it has begun.
 * The works may be opened again. May sleep. */
void djs_works_close(struct djs_works *works);
/* Closes them, and waits until every task has returned from this module: before that is unloaded.
 * May sleep. */
void djs_works_free(struct djs_works *works);

/* ---- execs and forks ------------------------------------------------------------------------- */

/* A callback of one of the kernel's tracepoints sched_process_… and sys_…. */
struct djs_task_event {
	const char *name;
	void *callback;
	struct tracepoint *tracepoint; /* NULL: not found */
	bool registered;
};

/* Registers those that are not registered; on an error none is. May sleep. */
int djs_task_events_start(struct djs_task_event *events, u32 count);
/* Afterwards no callback runs. May sleep. */
void djs_task_events_stop(struct djs_task_event *events, u32 count);

#endif
