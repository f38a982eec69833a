// SPDX-License-Identifier: GPL-2.0-or-later
// probe … if (condition): sites are armed while the condition holds. Handlers that change a
// condition's globals compare its value; a task arms and disarms. A reader's switches work
// likewise.
#include <linux/irq_work.h>
#include <linux/workqueue.h>

#include "control/arming.h"

static u32 conditions_differ; /* 1 from a handler's call until the task starts evaluating */

static void rearm_work_run(struct work_struct *work)
{
	WRITE_ONCE(conditions_differ, 0);
	smp_mb(); /* changes from here on set the mark again */
	djs_session_rearm();
}
static DECLARE_WORK(rearm_work, rearm_work_run);

static void schedule_rearm(struct irq_work *work)
{
	schedule_work(&rearm_work);
}
static DEFINE_IRQ_WORK(changed_work, schedule_rearm);

/* A handler that hits inside this function finds the mark set. */
DJS_HANDLER_CODE void djs_conditions_changed(void)
{
	if (READ_ONCE(conditions_differ))
		return;
	WRITE_ONCE(conditions_differ, 1);
	irq_work_queue(&changed_work);
}

void djs_conditions_exit(void)
{
	irq_work_sync(&changed_work);
	cancel_work_sync(&rearm_work);
}

/* Keeps the value of a condition; the previous one if its locks cannot be taken, which is counted,
 * and retried. A handler that changes it compares its value with the kept one under the same
 * locks: were it kept after their release, a change back in between would be lost. */
static void evaluate_condition(u32 number)
{
	const struct djs_handler *handler =
	    &djs_script.handlers[djs_script.handler_count - djs_script.condition_count + number];
	struct djs_ctx *ctx = djs_enter(handler, NULL);

	if (!ctx) {
		djs_conditions_changed();
		return;
	}
	ctx->condition = 0;
	handler->body(ctx);
	WRITE_ONCE(djs_script.condition_states[number], ctx->condition != 0);
	djs_leave(ctx);
}

static bool condition_holds(const struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	if (handler->probe < djs_script.switch_count &&
	    READ_ONCE(djs_script.switches[handler->probe]))
		return false;
	return !handler->condition || djs_script.condition_states[handler->condition - 1];
}

int djs_probe_switch(u32 probe, bool on)
{
	if (probe >= djs_script.switch_count)
		return -ENOENT;
	WRITE_ONCE(djs_script.switches[probe], !on);
	djs_session_rearm();
	return 0;
}

void djs_conditions_evaluate(void)
{
	u32 i;

	for (i = 0; i < djs_script.condition_count; i++)
		evaluate_condition(i);
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i], *other;
		bool wanted = false;

		if (!djs_script.condition_count && !djs_script.switch_count) {
			run->wanted = !run->absent && !run->disarmed;
			continue;
		}
		if (djs_is_direct(run) && run->follows)
			continue; /* like the first site at the same direct call */
		for (other = run; other; other = djs_is_direct(run) ? other->next : NULL)
			wanted |= condition_holds(other);
		for (other = run; other; other = djs_is_direct(run) ? other->next : NULL)
			other->wanted = wanted && !other->absent && !other->disarmed;
	}
}
