// SPDX-License-Identifier: GPL-2.0-or-later
// timer.*: deadlines that the session's loop polls. There are no other sites to arm.
#include <time.h>

#include "context/context.h"
#include "control/arming.h"
#include "userspace/internal.h"

struct timer {
	const struct djs_site *site;
	u64 due;
	u64 random; /* state of the generator that varies the periods */
};
static struct timer *timers;
static u32 timer_count;

#define SHORTEST_NS 10000ull /* as in the kernel */

u64 djs_user_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

static const struct djs_handler *handler_of(const struct timer *timer)
{
	return &djs_script.handlers[timer->site->handler];
}

static u64 next_period(struct timer *timer)
{
	u64 period = handler_of(timer)->arguments[DJS_TIMER_PERIOD_NS];
	u64 spread = min(handler_of(timer)->arguments[DJS_TIMER_RANDOM_NS], period);

	if (spread) {
		/* xorshift64 */
		timer->random ^= timer->random << 13;
		timer->random ^= timer->random >> 7;
		timer->random ^= timer->random << 17;
		period = period - spread + timer->random % (2 * spread + 1);
	}
	return max(period, SHORTEST_NS);
}

void djs_mechanisms_begin(void)
{
}

int djs_sites_arm(void)
{
	u64 now = djs_user_now();
	u32 i;

	timers = djs_user_zeroed(djs_script.site_count, sizeof(*timers));
	if (!timers)
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count; i++) {
		struct timer *timer = &timers[timer_count];

		if (djs_script.sites[i].mechanism != DJS_MECHANISM_TIMER)
			continue;
		timer->site = &djs_script.sites[i];
		timer->random = (now + i) | 1;
		timer->due = now + next_period(timer);
		timer_count++;
	}
	return 0;
}

void djs_sites_disarm(void)
{
	free(timers);
	timers = NULL;
	timer_count = 0;
}

/* A timer stays armed while its probe's condition does not hold: its handler checks the condition,
 * and disarming it would save nothing in this process. */
void djs_sites_rearm(void)
{
}
void djs_conditions_changed(void)
{
}
void djs_conditions_exit(void)
{
}

u64 djs_user_next_timer(void)
{
	u64 next = U64_MAX;
	u32 i;

	for (i = 0; i < timer_count; i++)
		next = min(next, timers[i].due);
	return next;
}

/* Returns the timer that is due first, if it is due. */
static struct timer *first_due(u64 now)
{
	struct timer *first = NULL;
	u32 i;

	for (i = 0; i < timer_count; i++)
		if (timers[i].due <= now && (!first || timers[i].due < first->due))
			first = &timers[i];
	return first;
}

static void run_handler(const struct djs_handler *handler, const struct djs_site *site)
{
	if (handler->by_regs)
		handler->by_regs(NULL, NULL);
	else
		djs_run_handler(handler, site, NULL);
}

void djs_user_run_handler(u32 handler)
{
	run_handler(&djs_script.handlers[handler], NULL);
}

void djs_user_run_due(u64 now)
{
	struct timer *timer;

	while ((timer = first_due(now)) && !djs_user_exit_requested()) {
		run_handler(handler_of(timer), timer->site);
		/* Skips the periods that were missed. */
		do
			timer->due += next_period(timer);
		while (timer->due <= now);
	}
}
