// SPDX-License-Identifier: GPL-2.0-or-later
// Calls of functions with return djprobes that have not returned. Their return addresses lie in
// this module, so it cannot go before they are through.
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "control/runtime.h"
#include "djprobe/drain.h"

#define PATIENCE_MS 2000
#define POLL_MS	    10
#define LINGER_MS   200

static void linger_work_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(linger_work, linger_work_run);
static bool lingering; /* somebody was still inside when the session ended */
static bool holds_module;

/* Exact when nobody can enter any more: the counts only go down then. A call may end on another
 * CPU than it began on. */
static s64 calls_inside(void)
{
	return DJS_CPU_SUM(inside);
}

u64 djs_inside_count(void)
{
	return lingering ? max_t(s64, calls_inside(), 0) : 0;
}

#define CALL_OPCODE 0xe8

/* Whether `address` is where a target goes on after the function that it called. */
static bool is_return_to_target(unsigned long address)
{
	u8 text[DJS_CALL_BYTES];
	unsigned long callee;
	u32 i;

	if (!within_module(address, THIS_MODULE) ||
	    copy_from_kernel_nofault(text, (void *)(address - DJS_CALL_BYTES), DJS_CALL_BYTES) ||
	    text[0] != CALL_OPCODE)
		return false;
	callee = address + *(s32 *)(text + 1);
	if (!within_module(callee, THIS_MODULE))
		return true;
	for (i = 0; i < djs_script.target_count; i++)
		if ((unsigned long)djs_script.targets[i].dispatch == callee)
			return true;
	return false;
}

static bool task_is_inside(struct task_struct *task)
{
	unsigned long stack = (unsigned long)task_stack_page(task), top = stack + THREAD_SIZE;
	unsigned long at = READ_ONCE(task->thread.sp), value;

	if (!stack || at < stack || at >= top)
		return false;
	for (; at < top; at += sizeof(value))
		if (!copy_from_kernel_nofault(&value, (void *)at, sizeof(value)) &&
		    is_return_to_target(value))
			return true;
	return false;
}

/* ": cat (231), sleep (17)": the tasks whose stacks show it. Stacks may go while they are read:
 * nofault reads. */
static void name_tasks(char *text, size_t size)
{
	struct task_struct *process, *task;
	size_t used = 0;

	text[0] = 0;
	rcu_read_lock();
	for_each_process_thread(process, task)
	{
		if (task == current || used + TASK_COMM_LEN + 16 > size || !task_is_inside(task))
			continue;
		used += scnprintf(text + used, size - used, "%s%s (%d)", used ? ", " : ": ",
				  task->comm, task_pid_nr(task));
	}
	rcu_read_unlock();
}

static bool wait_until_empty(void)
{
	u32 waited;

	for (waited = 0; calls_inside() > 0; waited += POLL_MS) {
		if (waited >= PATIENCE_MS)
			return false;
		schedule_timeout_idle(msecs_to_jiffies(POLL_MS));
	}
	return true;
}

static void report_inside(void)
{
	s64 count = calls_inside();
	char names[160];

	name_tasks(names, sizeof(names));
	djs_session_message(DJS_RECORD_WARNING,
			    count == 1 ? "%lld call of a probed function has not returned%s"
				       : "%lld calls of probed functions have not returned%s",
			    count, names);
}

static void linger_work_run(struct work_struct *work)
{
	if (calls_inside() > 0) {
		schedule_delayed_work(&linger_work, msecs_to_jiffies(LINGER_MS));
		return;
	}
	djs_drain_handlers(); /* they have a few instructions to go after they were counted */
	lingering = false;
	holds_module = false;
	module_put(THIS_MODULE); /* who unloads it now waits for this work in djs_inside_finish */
}

void djs_inside_drain(void)
{
	if (wait_until_empty()) {
		djs_drain_handlers();
		return;
	}
	djs_gate_add(DJS_HANDLER_MAY_LINGER);
	synchronize_rcu(); /* contexts are taken with preemption off */
	lingering = true;
	report_inside();
	/* Not to be had while the module is being unloaded: djs_inside_finish waits then. */
	holds_module = try_module_get(THIS_MODULE);
	if (holds_module)
		schedule_delayed_work(&linger_work, msecs_to_jiffies(LINGER_MS));
}

void djs_inside_finish(void)
{
	cancel_delayed_work_sync(&linger_work);
	if (!lingering)
		return;
	if (calls_inside() > 0)
		djs_warning("unloading waits until all calls have returned");
	while (calls_inside() > 0)
		schedule_timeout_idle(msecs_to_jiffies(LINGER_MS));
	djs_drain_handlers();
	lingering = false;
	if (holds_module)
		module_put(THIS_MODULE);
	holds_module = false;
}
