/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.….process: perf events of the threads that run a program. The kernel passes an event on to
 * the threads and child processes that such a thread creates (attr.inherit), and removes it when
 * one of them executes a program (attr.remove_on_exec). follow.c attaches an event to each thread
 * that runs the program at the start, and to each that executes it later; roots.c keeps these.
 */
#ifndef DJSTAP_PERF_H
#define DJSTAP_PERF_H

#include <linux/perf_event.h>

#include "programs/programs.h"
#include "sites/sites.h"

/* Runs the handler of a site. Any context. */
void djs_perf_hit(const struct djs_site_run *run, struct pt_regs *regs);

/* Returns the count of an event of this CPU, or of the current task; NULL: 0. Interrupts disabled.
 */
s64 djs_perf_count(struct perf_event *event);
/* Returns the number of the counter that the site is, or DJS_MOST_PERF_COUNTERS. */
static inline u32 djs_perf_counter(const struct djs_site_run *run)
{
	u64 how = djs_script.handlers[run->site->handler].arguments[DJS_PERF_HOW] &
		  ~(u64)(DJS_PERF_OF_PROGRAM | DJS_PERF_OF_TARGET);

	return how < DJS_PERF_COUNTER ? DJS_MOST_PERF_COUNTERS
				      : min_t(u64, how - DJS_PERF_COUNTER, DJS_MOST_PERF_COUNTERS);
}

/* ---- events: roots.c ------------------------------------------------------------------------- */

/* A probe of a program. */
struct djs_followed {
	struct djs_site_run *run;
	struct djs_program program;
	struct perf_event_attr attr;
	/* Shows that the machine has such an event, and keeps the kernel prepared for events of
	 * tasks. NULL: the probe is not armed. */
	struct perf_event *anchor;
	/* All threads that run the program have the event: from now on, hits are handled. */
	bool open;
};
extern struct djs_followed *djs_followed;
extern u32 djs_followed_count;

/* Returns whether the task, which is current or not running yet, should have an event of some armed
 * probe, and has none. */
bool djs_roots_lack(struct task_struct *task);
/* Returns the count of the current task's event of a counter of a program; 0: it has none.
 * Interrupts disabled. */
s64 djs_roots_count(const struct djs_followed *followed);
/* Attaches to the task what it lacks. Returns 0, also if the task exits, or an error. May sleep. */
int djs_roots_attach(struct task_struct *task);
/* The same for all tasks that exist. Returns the number of those that still lack something, or an
 * error. */
s64 djs_roots_attach_all(void);
/* Releases the events of a probe that is armed, with those that threads and children inherited. May
 * sleep. */
void djs_roots_release(struct djs_followed *followed);

/* ---- threads: follow.c ----------------------------------------------------------------------- */

static inline bool djs_is_followed(const struct djs_site_run *run)
{
	return djs_script.handlers[run->site->handler].arguments[DJS_PERF_HOW] &
	       (DJS_PERF_OF_PROGRAM | DJS_PERF_OF_TARGET);
}
/* Attaches and detaches the sites for which djs_is_followed is true. */
int djs_follow_attach(void);
void djs_follow_disarm(void);
void djs_follow_free(void);
/* Returns the current task's count of a counter of a program, by its number. Interrupts disabled.
 */
s64 djs_follow_read(u32 counter);
/* Returns the number of threads to which an event could not be attached. */
u64 djs_perf_not_followed(void);

#endif
