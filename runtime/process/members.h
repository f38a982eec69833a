/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes and threads that are followed. A process that began for the handlers ends for them,
 * and a thread likewise, whatever happens meanwhile. What these functions return tells what is due
 * now, and it is due once.
 */
#ifndef DJSTAP_MEMBERS_H
#define DJSTAP_MEMBERS_H

#include "programs/programs.h"

/* What is due of the current task: in this order. */
struct djs_process_due {
	bool process_begins, thread_begins, thread_ends, process_ends;
	struct djs_program program; /* of the process */
};

int djs_members_init(void);
void djs_members_exit(void);

/* ---- those that exist already: between djs_members_adding and djs_members_added -------------- */

void djs_members_adding(void);
/* Adds a process without threads. */
void djs_member_expect(pid_t process, const struct djs_program *program);
/* Adds a thread, which was not exiting a moment ago, to its process. Returns whether it is new. */
bool djs_member_add_existing(pid_t thread, pid_t process);
/* All threads have been added. May sleep. */
void djs_members_added(void);

/* ---- what the kernel tells ------------------------------------------------------------------- */

/* A new thread of a process that was added before. Returns whether it was added. */
bool djs_member_add_thread(pid_t thread, pid_t process);
/* A new process of one thread. Returns whether it was added. */
bool djs_member_add(pid_t process, const struct djs_program *program);
/* The thread is on its way to user mode. */
void djs_member_runs(pid_t thread, struct djs_process_due *due);
/* The thread is over. `is_last`: so are all others of its process, or nearly. */
void djs_member_exits(pid_t thread, pid_t process, bool is_last, struct djs_process_due *due);
/* The last thread of a process, whose number was `old`, has executed a program, which ends the one
 * before. `next`: the new one; NULL: nobody wants it. Returns whether that begins, after what is
 * due. */
bool djs_member_executes(pid_t process, pid_t old, const struct djs_program *next,
			 struct djs_process_due *due);
/* Returns how many processes and threads found no room. */
u64 djs_members_missed(void);

#endif
