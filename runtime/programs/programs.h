/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the mechanisms that probe programs share: which program a task runs (program.c), whether its
 * process concerns the script (tree.c), and the values of a call from its entry until it returns
 * (calls.c).
 */
#ifndef DJSTAP_PROGRAMS_H
#define DJSTAP_PROGRAMS_H

#include "include/platform.h"

#ifdef __KERNEL__
#include <linux/atomic.h>
#endif

struct task_struct;

/* ---- programs: program.c --------------------------------------------------------------------- */

struct djs_program {
	const char *path; /* NULL: the process of -c or -x, whatever it executes */
	u64 inode;
	dev_t device;
	u32 generation; /* of the inode: its number may be used again */
};

/* Finds the file by its path. May sleep. */
int djs_program_find(struct djs_program *program);
/* Returns whether the current task, or one that is not running yet, runs the program. */
bool djs_program_of_still(const struct djs_program *program, struct task_struct *task);
/* The same for any task. Task context. */
bool djs_program_of(const struct djs_program *program, struct task_struct *task);
/* Fills in which file a task executes that keeps its mm. Returns false if it executes none. */
bool djs_program_executed(struct djs_program *program, const struct task_struct *task);
static inline bool djs_program_is_same(const struct djs_program *a, const struct djs_program *b)
{
	return a->inode == b->inode && a->device == b->device && a->generation == b->generation;
}

/* ---- processes: tree.c ----------------------------------------------------------------------- */

/* Returns whether a task belongs to the process of -c or -x or its descendants, or there is none.
 * Any context. */
bool djs_is_in_tree(const struct task_struct *task);
/* Returns how many times that was not known: more than 256 ancestors are not looked at. */
u64 djs_deep_hits(void);
/* Returns whether a hit in the current process concerns a handler that is only about the process
 * with this number; 0: about all. Any context. */
bool djs_concerns_process(u64 only);

/* ---- calls that have not returned: calls.c ------------------------------------------------------
 */

struct djs_calls;

/* The frame of a system call: a task makes one at a time. */
#define DJS_SYSTEM_CALL 1

/* Makes room for `count` calls with `words` values each. NULL: no memory. */
struct djs_calls *djs_calls_make(u32 count, u32 words);
void djs_calls_free(struct djs_calls *calls);
/* What has begun until now has no values: entries or returns have not been seen meanwhile. */
void djs_calls_forget(struct djs_calls *calls);
/* Returns room for the values of a call by the current task whose return address is at `frame`.
 * `owner`: whose values they are. The caller fills it, and then calls djs_call_begun. */
u64 *djs_call_begin(struct djs_calls *calls, const void *owner, unsigned long frame);
/* Without values (`valid` is false) the return is not handled. */
void djs_call_begun(u64 *values, bool valid);
/* Returns what was kept for the call, until djs_call_over; NULL: nothing, because it had no values,
 * or because there were too many calls, which is counted. */
u64 *djs_call_find(struct djs_calls *calls, const void *owner, unsigned long frame);
void djs_call_over(u64 *values);
/* Returns how many calls returned whose values had to make room for those of others. */
u64 djs_calls_missed(void);

#endif
