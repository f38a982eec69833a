// SPDX-License-Identifier: GPL-2.0-or-later
// process.syscall and .syscall.return: the kernel tells of each system call of each task.
#include <linux/compat.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/runtime.h"
#include "process/process.h"
#include "programs/handler.h"
#include "tasks/tasks.h"

#ifdef DJS_HAVE_TRACEPOINTS

/* Its values would stay for ever. */
static DJS_HANDLER_CODE bool never_returns(long number)
{
	return number == __NR_exit || number == __NR_exit_group;
}

/* A new task returns from a call that its parent has begun. */
static DJS_HANDLER_CODE bool is_new_task(struct pt_regs *regs, long result)
{
	long number = syscall_get_nr(current, regs);

	return !result && (number == __NR_clone || number == __NR_clone3 || number == __NR_fork ||
			   number == __NR_vfork);
}

static DJS_HANDLER_CODE void keep_values(const struct djs_process_site *site, struct pt_regs *regs)
{
	u64 *values = djs_call_begin(site->calls, site, DJS_SYSTEM_CALL);
	struct djs_ctx *ctx;
	bool valid = false;

	if (!values)
		return;
	ctx = djs_enter_program(site->handler, site->run->site, regs, instruction_pointer(regs),
				values);
	if (ctx) {
		site->handler->entry(ctx);
		valid = !ctx->error;
		djs_leave_program(ctx);
	}
	djs_call_begun(values, valid);
}

static DJS_HANDLER_CODE void hit_return(const struct djs_process_site *site, struct pt_regs *regs)
{
	u64 *values = site->calls ? djs_call_find(site->calls, site, DJS_SYSTEM_CALL) : NULL;
	struct djs_ctx *ctx;

	if (site->calls && !values)
		return;
	ctx = djs_enter_program(site->handler, site->run->site, regs, instruction_pointer(regs),
				values);
	if (ctx) {
		ctx->returned = 1;
		ctx->return_value = regs_return_value(regs);
		site->handler->body(ctx);
		regs_set_return_value(regs, ctx->return_value); /* it may have been changed */
		djs_leave_program(ctx);
	}
	if (values)
		djs_call_over(values);
}

static DJS_HANDLER_CODE bool makes_wanted_call(const struct djs_process_site *site)
{
	return READ_ONCE(site->run->armed) &&
	       (!site->program.path || djs_program_of_still(&site->program, current)) &&
	       djs_concerns_process(site->handler->arguments[DJS_PROCESS_ID]);
}

static DJS_HANDLER_CODE void call_entered(void *unused, struct pt_regs *regs, long number)
{
	u32 i;

	if (in_compat_syscall()) /* they have numbers of their own */
		return;
	preempt_disable_notrace();
	for (i = 0; i < djs_process_site_count; i++) {
		const struct djs_process_site *site = &djs_process_sites[i];
		u64 moment = djs_process_moment(site);

		if (moment < DJS_PROCESS_SYSCALL || !makes_wanted_call(site))
			continue;
		if (moment == DJS_PROCESS_SYSCALL)
			djs_process_hit(site, regs);
		else if (site->calls && !never_returns(number))
			keep_values(site, regs);
	}
	preempt_enable_notrace();
}

static DJS_HANDLER_CODE void call_returned(void *unused, struct pt_regs *regs, long result)
{
	u32 i;

	if (in_compat_syscall())
		return;
	preempt_disable_notrace();
	for (i = 0; i < djs_process_site_count; i++) {
		const struct djs_process_site *site = &djs_process_sites[i];

		if (djs_process_moment(site) != DJS_PROCESS_SYSCALL_RETURN ||
		    !makes_wanted_call(site))
			continue;
		if (site->handler->by_regs)
			djs_process_hit(site, regs);
		else if (!site->calls || !is_new_task(regs, result))
			hit_return(site, regs);
	}
	preempt_enable_notrace();
}

static struct djs_task_event entry_event = {.name = "sys_enter", .callback = call_entered};
static struct djs_task_event return_event = {.name = "sys_exit", .callback = call_returned};

static void stop_event(struct djs_task_event *event, bool wanted)
{
	if (event->registered && !wanted)
		djs_task_events_stop(event, 1);
}

/* Each costs all processes something. */
int djs_process_syscalls_watch(void)
{
	bool entries = false, returns = false;
	int error = 0;
	u32 i;

	for (i = 0; i < djs_process_site_count; i++) {
		const struct djs_process_site *site = &djs_process_sites[i];
		u64 moment = djs_process_moment(site);

		if (!site->run->wanted || site->run->error)
			continue;
		entries |= moment == DJS_PROCESS_SYSCALL || site->calls;
		returns |= moment == DJS_PROCESS_SYSCALL_RETURN;
	}
	stop_event(&entry_event, entries);
	stop_event(&return_event, returns);
	if (entries)
		error = djs_task_events_start(&entry_event, 1);
	if (returns && !error)
		error = djs_task_events_start(&return_event, 1);
	return error;
}

void djs_process_syscalls_stop(void)
{
	stop_event(&entry_event, false);
	stop_event(&return_event, false);
}
#endif
