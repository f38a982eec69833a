// SPDX-License-Identifier: GPL-2.0-or-later
// timer.*: one hrtimer per site; handlers run in the timer's interrupt, except for those that walk
// over large arrays.
#include <linux/hrtimer.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "context/context.h"
#include "sites/mechanism.h"

struct djs_timer {
	struct hrtimer timer;
	struct djs_site_run *run;
	struct djs_job *job; /* of a handler that runs in a task; else NULL */
	u64 random;	     /* state of the generator that varies the periods */
};

static u64 next_period(struct djs_timer *timer)
{
	const struct djs_handler *handler = &djs_script.handlers[timer->run->site->handler];
	u64 period = handler->arguments[DJS_TIMER_PERIOD_NS];
	u64 spread = min(handler->arguments[DJS_TIMER_RANDOM_NS], period);

	if (spread) {
		/* xorshift64 */
		timer->random ^= timer->random << 13;
		timer->random ^= timer->random >> 7;
		timer->random ^= timer->random << 17;
		period = period - spread + timer->random % (2 * spread + 1);
	}
	return max_t(u64, period,
		     10 * NSEC_PER_USEC); /* a shorter one would leave no time for anything else */
}

static enum hrtimer_restart timer_fire(struct hrtimer *hrtimer)
{
	struct djs_timer *timer = container_of(hrtimer, struct djs_timer, timer);
	const struct djs_handler *handler = &djs_script.handlers[timer->run->site->handler];

	if (timer->job)
		djs_job_start(timer->job);
	else if (handler->by_regs)
		handler->by_regs(NULL, NULL);
	else
		djs_run_handler(handler, timer->run->site, NULL);
	hrtimer_forward_now(hrtimer, ns_to_ktime(next_period(timer)));
	return HRTIMER_RESTART;
}

static int attach_timer(struct djs_site_run *run)
{
	struct djs_timer *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return -ENOMEM;
	timer->run = run;
	if (djs_script.handlers[run->site->handler].flags & DJS_HANDLER_IN_TASK) {
		timer->job = djs_job_make(run->site);
		if (!timer->job) {
			kfree(timer);
			return -ENOMEM;
		}
	}
	timer->random = get_random_u64() | 1;
#ifdef DJS_HAVE_HRTIMER_SETUP
	hrtimer_setup(&timer->timer, timer_fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer->timer.function = timer_fire;
#endif
	run->data = timer;
	run->armed = 1;
	hrtimer_start(&timer->timer, ns_to_ktime(next_period(timer)), HRTIMER_MODE_REL_HARD);
	return 0;
}

static void detach_timer(struct djs_site_run *run)
{
	struct djs_timer *timer = run->data;

	hrtimer_cancel(&timer->timer);
	djs_job_free(timer->job);
	run->armed = 0;
	run->data = NULL;
	kfree(timer);
}

static int timers_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism == DJS_MECHANISM_TIMER && run->wanted && !run->armed &&
		    attach_timer(run))
			return -ENOMEM;
	}
	return 0;
}

static void timers_disarm(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_TIMER && djs_sites[i].armed &&
		    !djs_sites[i].wanted)
			detach_timer(&djs_sites[i]);
}

const struct djs_mechanism_ops djs_ops_timer = {
    .attach = timers_attach,
    .disarm = timers_disarm,
    .last = true,
};
