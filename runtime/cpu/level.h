/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The level of interruption at which code runs. Resources of one level (a context, a copy of a
 * statistic) are safe from the other levels, and code waits for a lock unless the code it
 * interrupted may hold it.
 */
#ifndef DJSTAP_LEVEL_H
#define DJSTAP_LEVEL_H

#include "arch/runtime.h"
#include "cpu/cpu.h"

#ifdef __KERNEL__
#include <linux/preempt.h>

#define DJS_INTERRUPT_MASK (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)

/*
 * The kernel counts a breakpoint's exception as an NMI, and a kprobe's handler runs in one. A real
 * NMI interrupts any instruction, whatever locks its processor holds; a breakpoint is only hit
 * where it was placed, which is nowhere in here: with respect to locks and contexts it is a call
 * from the code that it interrupts. The stack distinguishes the two. An NMI that interrupts the
 * kernel has a stack of its own; a breakpoint stays on the current stack, so one inside an NMI is
 * treated as part of it. An NMI that interrupts user space is on its task's stack, and interrupted
 * no holder of anything. A breakpoint on data is hit by any instruction, and its exception has a
 * stack of its own: it is treated as an NMI.
 */
static __always_inline bool djs_in_nmi(void)
{
	return unlikely(preempt_count() & NMI_MASK) && djs_on_exception_stack();
}

/* 0 task, 1 softirq, 2 hardirq, DJS_LEVEL_NMI. */
static __always_inline unsigned int djs_level(void)
{
	unsigned int count = preempt_count();
	unsigned int exceptions = (count & NMI_MASK) >> NMI_SHIFT;

	if (unlikely(exceptions)) {
		if (djs_on_exception_stack())
			return DJS_LEVEL_NMI;
		/* Each of them was counted as an interrupt, too. */
		count -= exceptions * (NMI_OFFSET + HARDIRQ_OFFSET);
	}
	return count & HARDIRQ_MASK ? 2 : count & SOFTIRQ_OFFSET ? 1 : 0;
}
#else
/* Nothing interrupts a handler in djstap's own process; in a program, a signal may. */
#ifdef DJS_INJECTED
bool djs_slot_nested(void); /* injected/threads.c */
#endif
static inline unsigned int djs_level(void)
{
	return 0;
}

static inline bool djs_in_nmi(void)
{
#ifdef DJS_INJECTED
	return djs_slot_nested();
#else
	return false;
#endif
}
#endif

#endif
