// SPDX-License-Identifier: GPL-2.0-or-later
// See include/kernel_clock.h. The structure is not part of the kernel's interface, so nothing is
// taken for granted: what it yields is compared with what the kernel's functions return.
#include "context/kernel_clock.h"

#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "include/kernel_clock.h"
#include "include/script.h"
#include "sites/sites.h"

/* No clocksource, so handlers call the kernel. */
static const u64 unreadable[16];
struct djs_kernel_clock djs_kernel_clock = {
    unreadable, {unreadable, unreadable}, unreadable, DJS_CLOCK_LIMIT};

#ifdef DJS_HAVE_TK_READ_BASE

/* Of the latch, which lockdep makes larger, they read the sequence alone. */
static_assert(sizeof(struct tk_read_base) <= sizeof(unreadable),
	      "handlers read a copy of the clock");

#define AGREEMENTS     8
#define CLOCK_ATTEMPTS 64

enum clock { REAL, MONOTONIC };

static u64 of_kernel(enum clock which)
{
	return which == REAL ? ktime_get_real_fast_ns() : ktime_get_mono_fast_ns();
}

/* Computes what handlers do. Returns false if they would call the kernel. */
static bool of_handlers(const struct djs_kernel_clock *clock, enum clock which, u64 *ns)
{
	const struct djs_tk_fast *fast = clock->fast;
	struct djs_tk_fast seen;
	const struct tk_read_base *base;
	u64 cycles;
	u32 seq;

	if (copy_from_kernel_nofault(&seen, fast, sizeof(seen)))
		return false;
	seq = READ_ONCE(*(const u32 *)&seen.seq);
	cycles = djs_cycles_in_order();
	base = &seen.base[seq & 1];
	if ((const void *)base->clock != clock->cycles ||
	    cycles - base->cycle_last > clock->limit || base->shift > 32)
		return false;
	*ns = ((cycles - base->cycle_last) * base->mult + base->xtime_nsec) >> base->shift;
	*ns += which == REAL ? base->base_real : (u64)base->base;
	barrier();
	return !copy_from_kernel_nofault(&seen, fast, sizeof(seen.seq)) &&
	       READ_ONCE(*(const u32 *)&seen.seq) == seq;
}

/* An update of the clock may come in between, so not every attempt counts. */
static bool agree(const struct djs_kernel_clock *clock, enum clock which)
{
	u32 agreements = 0, attempt;

	for (attempt = 0; attempt < CLOCK_ATTEMPTS && agreements < AGREEMENTS; attempt++) {
		u64 before = of_kernel(which), ours, after;
		bool read = of_handlers(clock, which, &ours);

		after = of_kernel(which);
		if (!read || after < before) /* the wall clock was set */
			continue;
		if (ours < before || ours > after)
			return false;
		agreements++;
	}
	return agreements == AGREEMENTS;
}

void djs_kernel_clock_init(void)
{
	struct djs_kernel_clock clock = {.limit = DJS_CLOCK_LIMIT};
	const struct djs_tk_fast *fast;
	struct clocksource *source, seen;

	if (!djs_script.fast_clock)
		return;
	fast = (const void *)(djs_script.fast_clock + djs_biases[0]);
	clock.fast = fast;
	clock.base[0] = &fast->base[0];
	clock.base[1] = &fast->base[1];
	if (copy_from_kernel_nofault(&source, &fast->base[0].clock, sizeof(source)) ||
	    copy_from_kernel_nofault(&seen, source, sizeof(seen)) || !djs_counts_cycles(&seen))
		return;
	clock.cycles = source;
	if (agree(&clock, REAL) && agree(&clock, MONOTONIC))
		djs_kernel_clock = clock;
}

#else

void djs_kernel_clock_init(void)
{
}

#endif
