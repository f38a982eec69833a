/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.begin, .end, .thread.begin, .thread.end, .syscall, .syscall.return: moments in the life
 * of processes, and their system calls. members.c keeps the processes and threads whose begin or
 * end some handler waits for, lives.c follows them, syscalls.c needs none of both: a system call
 * tells whose it is.
 */
#ifndef DJSTAP_PROCESS_H
#define DJSTAP_PROCESS_H

#include "programs/programs.h"
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
