// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the records' clock to time.
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "arch/runtime.h"
#include "record/rings.h"

struct djs_clock djs_load_time;

/* The best of a few tries is used: an NMI, or the hypervisor, may run between the clock reads. */
#define CLOCK_TRIES 4

void djs_clock_read(struct djs_clock *clock)
{
	u64 least = U64_MAX;
	int tries;

	for (tries = 0; tries < CLOCK_TRIES; tries++) {
		unsigned long flags;
		u64 before, after, monotonic, realtime;

		local_irq_save(flags);
		before = djs_cycles_in_order();
		monotonic = ktime_get_ns();
		after = djs_cycles_in_order();
		realtime = ktime_get_real_ns();
		local_irq_restore(flags);
		if (after - before >= least)
			continue;
		least = after - before;
		clock->cycles = before + (after - before) / 2;
		clock->monotonic_ns = monotonic;
		clock->realtime_ns = realtime;
	}
	clock->cycles_khz = djs_cycles_khz();
}
