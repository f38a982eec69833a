// SPDX-License-Identifier: GPL-2.0-or-later
// Clocks. The wall clock and the monotonic clock are read through their lockless variants: a
// handler may run inside an update of the ordinary ones, or in an NMI, and would wait for ever.
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "state/state.h"

DJS_HANDLER_CODE s64 djs_fn_gettimeofday_ns(struct djs_ctx *ctx)
{
	return ktime_get_real_fast_ns();
}

DJS_HANDLER_CODE s64 djs_fn_get_cycles(struct djs_ctx *ctx)
{
	return djs_cycles();
}

DJS_HANDLER_CODE s64 djs_fn_jiffies(struct djs_ctx *ctx)
{
	return jiffies;
}

DJS_HANDLER_CODE s64 djs_fn_HZ(struct djs_ctx *ctx)
{
	return CONFIG_HZ;
}

DJS_HANDLER_CODE s64 djs_fn_ktime_get_ns(struct djs_ctx *ctx)
{
	return ktime_get_mono_fast_ns();
}

DJS_HANDLER_CODE s64 djs_fn_local_clock_ns(struct djs_ctx *ctx)
{
	return local_clock();
}

/* Returns 0 for a CPU that does not exist. */
DJS_HANDLER_CODE s64 djs_fn_cpu_clock_ns(struct djs_ctx *ctx, s64 cpu)
{
	if (cpu >= 0 && cpu < nr_cpu_ids && cpu_online(cpu))
		return sched_clock_cpu(cpu);
	djs_fail_text(ctx, DJS_NO_PLACE, "cpu %lld is not online", cpu);
	return 0;
}
