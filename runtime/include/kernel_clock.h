/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What handlers read the kernel's clock from (codegen/clocks.cpp), as ktime_get_real_fast_ns() and
 * ktime_get_mono_fast_ns() do (kernel/time/timekeeping.c): the kernel's tk_fast_mono, whose address
 * is that of a latch, followed by two copies of struct tk_read_base.
 */
#ifndef DJSTAP_KERNEL_CLOCK_H
#define DJSTAP_KERNEL_CLOCK_H

#include "include/platform.h"

struct djs_kernel_clock {
	const void *fast;
	const void *base[2]; /* the two copies, by the lowest bit of the latch */
	/* The clocksource that counts the cycles of djs_cycles_in_order. While the kernel uses
	 * another one, handlers call the kernel. */
	const void *cycles;
	/* Handlers call the kernel if more cycles passed since the clock's last update: their
	 * product with the clock's 32-bit multiplier must not overflow. */
	u64 limit;
};
#define DJS_CLOCK_LIMIT 0x7fffffffull
extern struct djs_kernel_clock djs_kernel_clock;

#endif
