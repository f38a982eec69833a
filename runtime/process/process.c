// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of process.begin and its kin: whose moments they want, and their handlers.
#include <linux/slab.h>

#include "context/context.h"
#include "process/process.h"
#include "programs/programs.h"
#include "sites/mechanism.h"

struct djs_process_site *djs_process_sites;
u32 djs_process_site_count;

static bool is_process_site(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_PROCESS;
}

DJS_HANDLER_CODE bool djs_process_site_wants(const struct djs_process_site *site,
					     const struct djs_program *program, pid_t process)
{
	u64 only = site->handler->arguments[DJS_PROCESS_ID];

	return (!only || only == process) &&
	       (!site->program.path || djs_program_is_same(&site->program, program));
}

DJS_HANDLER_CODE void djs_process_hit(const struct djs_process_site *site, struct pt_regs *regs)
{
	const struct djs_handler *handler = site->handler;

	if (handler->by_regs)
		handler->by_regs(NULL, regs);
	else
		djs_run_handler(handler, site->run->site, regs);
}

#ifdef DJS_HAVE_TRACEPOINTS

static bool is_syscall_site(const struct djs_process_site *site)
{
	return djs_process_moment(site) >= DJS_PROCESS_SYSCALL;
}

/* System calls at a time whose values are kept. */
#define CALLS_AT_A_TIME 1024

/* The file is looked up once: what replaces it under its name is another program. */
static int find_site(struct djs_process_site *site, struct djs_site_run *run)
{
	int error;

	site->run = run;
	site->handler = &djs_script.handlers[run->site->handler];
	site->program.path = site->handler->program;
	error = site->program.path ? djs_program_find(&site->program) : 0;
	if (error)
		djs_site_failed(run, error, "there is no such program");
	if (error || !site->handler->entry)
		return 0;
	site->calls = djs_calls_make(CALLS_AT_A_TIME, site->handler->saved);
	return site->calls ? 0 : -ENOMEM;
}

static int find_sites(void)
{
	u32 i, count = 0;
	int error = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += is_process_site(&djs_sites[i]);
	if (!count)
		return 0;
	djs_process_sites = kvcalloc(count, sizeof(*djs_process_sites), GFP_KERNEL);
	if (!djs_process_sites)
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count && !error; i++)
		if (is_process_site(&djs_sites[i]))
			error =
			    find_site(&djs_process_sites[djs_process_site_count++], &djs_sites[i]);
	return error;
}

static bool is_wanted(const struct djs_process_site *site)
{
	return site->run->wanted && !site->run->error;
}

static bool any_lives(void)
{
	u32 i;

	for (i = 0; i < djs_process_site_count; i++)
		if (!is_syscall_site(&djs_process_sites[i]) && !djs_process_sites[i].run->error)
			return true;
	return false;
}

static void fail_sites(bool syscalls, int error)
{
	u32 i;

	for (i = 0; i < djs_process_site_count; i++)
		if (is_syscall_site(&djs_process_sites[i]) == syscalls &&
		    !djs_process_sites[i].run->error)
			djs_site_failed(djs_process_sites[i].run, error,
					"this kernel does not tell of processes");
}

/* Processes are followed until the session ends, whatever conditions say: one that begins while its
 * handler is not armed may end later. */
static int processes_attach(void)
{
	bool is_first = !djs_process_sites;
	int error = is_first ? find_sites() : 0;
	u32 i;

	if (error)
		return error;
	if (is_first && any_lives()) {
		error = djs_lives_start();
		if (error == -ENOMEM)
			return error;
		if (error)
			fail_sites(false, error);
	}
	error = djs_process_syscalls_watch();
	if (error)
		fail_sites(true, error);
	for (i = 0; i < djs_process_site_count; i++)
		if (is_wanted(&djs_process_sites[i])) {
			if (djs_process_sites[i].calls && !djs_process_sites[i].run->armed)
				djs_calls_forget(djs_process_sites[i].calls);
			WRITE_ONCE(djs_process_sites[i].run->armed, 1);
		}
	return 0;
}

static void processes_disarm(void)
{
	bool any = false;
	u32 i;

	for (i = 0; i < djs_process_site_count; i++) {
		struct djs_site_run *run = djs_process_sites[i].run;

		any |= run->armed && !run->wanted;
		if (!run->wanted)
			WRITE_ONCE(run->armed, 0);
	}
	if (!any)
		return;
	djs_process_syscalls_watch(); /* for fewer */
	synchronize_rcu();	      /* handlers run with preemption disabled */
}

static void processes_detach(void)
{
	processes_disarm();
	djs_process_syscalls_stop();
	djs_lives_stop();
}

static void processes_free(void)
{
	djs_process_syscalls_stop();
	djs_lives_free();
	while (djs_process_site_count)
		djs_calls_free(djs_process_sites[--djs_process_site_count].calls);
	kvfree(djs_process_sites);
	djs_process_sites = NULL;
}

#else

static int processes_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (is_process_site(&djs_sites[i]) && !djs_sites[i].error)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this kernel has no tracepoints");
	return 0;
}

static void processes_disarm(void)
{
}

static void processes_detach(void)
{
}

static void processes_free(void)
{
}

void djs_lives_begin(void)
{
}
#endif

const struct djs_mechanism_ops djs_ops_process = {
    .attach = processes_attach,
    .disarm = processes_disarm,
    .detach = processes_detach,
    .begin = djs_lives_begin,
    .free = processes_free,
    .last = true,
    .drains = true,
};
