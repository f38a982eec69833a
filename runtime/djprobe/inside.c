// SPDX-License-Identifier: GPL-2.0-or-later
// Calls of functions with return djprobes that have not returned yet. Their return addresses lie in
// this module, so it cannot be unloaded before they have returned.
#include <linux/module.h>

#include "cpu/queue.h"
#include "djprobe/djprobe.h"
#include "djprobe/inside.h"

#define PATIENCE_MS 2000
#define POLL_MS	    10
#define LINGER_MS   200
/* Intervals between scans of all stacks, which grow while some task stays inside. */
#define LOOK_MS	     500
#define LOOK_MOST_MS 10000

static void linger_work_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(linger_work, linger_work_run);
/* sticky: a call may still be inside long after its probe was detached */
static bool returns_attached;
static bool lingering;	/* some task was still inside when the session ended */
static s64 calls_ended; /* calls that ended with their tasks: they never return */
static u32 look_ms = LOOK_MS;
static unsigned long look_at; /* in jiffies */

void djs_inside_expect(void)
{
	returns_attached = true;
}

/* Exact if no task can enter any more: then the counts only decrease. A call may end on another CPU
 * than the one it began on. */
static s64 calls_inside(void)
{
	return (s64)DJS_CPU_SUM(inside) - calls_ended;
}

u64 djs_inside_count(void)
{
	return lingering ? max_t(s64, calls_inside(), 0) : 0;
}

static void look_later(void)
{
	look_at = jiffies + msecs_to_jiffies(look_ms);
}

/*
 * A task that dies inside is counted for ever, so the stacks of the living tasks decide. Scans them
 * twice: in between, it waits for tasks that are exiting and no longer in any list. `own` calls are
 * those of the current task.
 */
static bool rest_has_ended(s64 own)
{
	s64 count;

	if (djs_anybody_inside())
		return false;
	djs_drain_handlers();
	count = calls_inside() - own;
	if (count > 0 && djs_anybody_inside())
		return false;
	if (count > 0)
		calls_ended += count;
	return true;
}

/* True if all have left, except for the current task's own calls. A look at the task that was found
 * last is very cheap, and mostly it is still inside. */
static bool everybody_left(s64 own)
{
	if (calls_inside() <= own)
		return true;
	if (time_before(jiffies, look_at))
		return false;
	if (!djs_last_found_inside()) {
		if (rest_has_ended(own))
			return true;
		look_ms = min(2 * look_ms, (u32)LOOK_MOST_MS);
	}
	look_later();
	return false;
}

static bool wait_until_empty(s64 own)
{
	u32 waited;

	look_later();
	for (waited = POLL_MS; !everybody_left(own); waited += POLL_MS) {
		if (waited > PATIENCE_MS)
			return false;
		schedule_timeout_idle(msecs_to_jiffies(POLL_MS));
	}
	if (calls_ended)
		djs_session_message(DJS_RECORD_WARNING,
				    calls_ended == 1
					? "%lld call of a probed function ended with its task"
					: "%lld calls of probed functions ended with their tasks",
				    calls_ended);
	return true;
}

static void report_inside(void)
{
	s64 count = calls_inside();
	char names[160];

	djs_name_inside(names, sizeof(names));
	djs_session_message(DJS_RECORD_WARNING,
			    count == 1 ? "%lld call of a probed function has not returned%s"
				       : "%lld calls of probed functions have not returned%s",
			    count, names);
}

/* Not on any CPU's own queue: scanning many tasks takes long. */
static void linger_for(u32 ms)
{
	queue_delayed_work(DJS_QUEUE, &linger_work, msecs_to_jiffies(ms));
}

static void linger_work_run(struct work_struct *work)
{
	/*
	 * This work may run inside a probed function, which the scan of other tasks would not see.
	 */
	if (djs_calls_of_current() || !everybody_left(0)) {
		linger_for(LINGER_MS);
		return;
	}
	djs_drain_handlers(); /* tasks have a few instructions left after they were counted */
	lingering = false;
	/* an unload that starts now waits for this work in djs_inside_finish */
	module_put(THIS_MODULE);
}

void djs_inside_drain(void)
{
	s64 own;
	bool others_left;

	if (!returns_attached)
		return;
	own = djs_calls_of_current();
	others_left = wait_until_empty(own);
	if (others_left && calls_inside() <= 0) {
		djs_drain_handlers();
		return;
	}
	djs_gate_add(DJS_HANDLER_MAY_LINGER);
	synchronize_rcu(); /* contexts are used with preemption disabled */
	lingering = true;
	if (!others_left)
		report_inside();
	/* The current task's own calls return after this one, and linger_work finds out. The
	 * reference cannot be taken while the module is being unloaded: djs_inside_finish waits
	 * then. */
	if (try_module_get(THIS_MODULE))
		linger_for(others_left ? POLL_MS : LINGER_MS);
}

void djs_inside_finish(void)
{
	cancel_delayed_work_sync(&linger_work);
	if (!lingering) {
		djs_forget_last_found();
		return;
	}
	/* The reference that djs_inside_drain may have taken does not keep the module here: while
	 * it is held, only a forced unload and a failed init get here, and both ignore it. */
	if (calls_inside() > 0)
		djs_warning("unloading waits until all calls have returned");
	while (djs_calls_of_current() || !everybody_left(0))
		schedule_timeout_idle(msecs_to_jiffies(LINGER_MS));
	djs_forget_last_found();
	djs_drain_handlers();
	lingering = false;
}
