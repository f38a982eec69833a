/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tasks are made to do on their way to user mode, where they may sleep, and the moments when
 * they execute a program, are created, exit or make a system call.
 */
#ifndef DJSTAP_TASKS_H
#define DJSTAP_TASKS_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <linux/wait.h>

#include "include/platform.h"

struct tracepoint;

/* ---- works ----------------------------------------------------------------------------------- */

/* The works of one purpose that have begun and are not over. */
struct djs_works {
	atomic_t due;
	wait_queue_head_t queue;
};
#define DJS_WORKS(name)                                                                            \
	struct djs_works name = {.queue = __WAIT_QUEUE_HEAD_INITIALIZER((name).queue)}

/* Finds the kernel's function. -EOPNOTSUPP: this kernel has none. */
int djs_works_find(void);
/* Any context. From here on djs_works_wait() waits for one more call of djs_works_end(). */
void djs_works_begin(struct djs_works *works);
/* After djs_works_begin(), which is undone if the task exits: an error. `function` calls
 * djs_works_end(). */
int djs_works_add(struct djs_works *works, struct task_struct *task, struct callback_head *work,
		  task_work_func_t function);
void djs_works_end(struct djs_works *works);
/* Waits until none is due; the last one may still be returning from this module. */
void djs_works_wait(struct djs_works *works);
/* Waits until it has returned: before the module is unloaded. */
void djs_works_leave(void);

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
