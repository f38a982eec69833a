/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.begin, .end, .thread.begin, .thread.end, .syscall, .syscall.return: moments in the life
 * of processes, and their system calls. members.c keeps the processes and threads whose begin or
 * end some handler waits for, lives.c follows them, syscalls.c needs none of both: a system call
 * tells whose it is.
 */
#ifndef DJSTAP_PROCESS_H
#define DJSTAP_PROCESS_H

#include "perf/perf.h"
#include "sites/sites.h"

/* ---- sites: process.c ------------------------------------------------------------------------ */

/* A site, and whose moments its handler wants. */
struct djs_process_site {
	struct djs_site_run *run;
	const struct djs_handler *handler;
	struct djs_program program; /* path NULL: all programs */
	struct djs_calls
	    *calls; /* system calls; NULL: its handler needs no values from their entry */
};
extern struct djs_process_site *djs_process_sites;
extern u32 djs_process_site_count;

static inline u64 djs_process_moment(const struct djs_process_site *site)
{
	return site->handler->arguments[DJS_PROCESS_MOMENT];
}
/* Returns whether the site is about processes of this program and this number. Any context. */
bool djs_process_site_wants(const struct djs_process_site *site, const struct djs_program *program,
			    pid_t process);
/* Runs the handler for the current task. Preemption is disabled. */
void djs_process_hit(const struct djs_process_site *site, struct pt_regs *regs);

/* ---- processes and threads that are followed: members.c ---------------------------------------
 *
 * A process that began for the handlers ends for them, and a thread likewise, whatever happens
 * meanwhile. What these functions return tells what is due now, and it is due once.
 */

/* What is due of the current task: in this order. */
struct djs_process_due {
	bool process_begins, thread_begins, thread_ends, process_ends;
	struct djs_program program; /* of the process */
};

int djs_members_init(void);
void djs_members_exit(void);
/* Adds a process without threads, which is not over before djs_member_seen. */
bool djs_member_expect(pid_t process, const struct djs_program *program);
void djs_member_seen(pid_t process);
/* Adds a thread to a process that was added before. Returns whether it is new. */
bool djs_member_add_thread(pid_t thread, pid_t process);
/* Adds a process of one thread. */
bool djs_member_add(pid_t process, const struct djs_program *program);
bool djs_member_is_process(pid_t process);
/* The thread is on its way to user mode. */
void djs_member_runs(pid_t thread, struct djs_process_due *due);
/* The thread is over. */
void djs_member_exits(pid_t thread, struct djs_process_due *due);
/* The last thread of a process, whose number was `old`, has executed a program, which ends the one
 * before. `next`: the new one; NULL: nobody wants it. Returns whether that begins, after what is
 * due. */
bool djs_member_executes(pid_t process, pid_t old, const struct djs_program *next,
			 struct djs_process_due *due);
/* Removes a thread that was added while it was exiting. */
void djs_member_forget(pid_t thread);
/* Returns how many processes and threads found no room. */
u64 djs_members_missed(void);

/* ---- lives and system calls: lives.c, syscalls.c ----------------------------------------------
 */

/* Task context, with the sites locked. `start` returns 0 or an error; after `begin` the processes
 * that run are followed. */
int djs_lives_start(void);
void djs_lives_begin(void);
void djs_lives_stop(void);
void djs_lives_free(void);
/* Has the kernel tell of the system calls that sites want. Task context. */
int djs_process_syscalls_watch(void);
void djs_process_syscalls_stop(void);

#endif
