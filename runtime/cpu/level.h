/* SPDX-License-Identifier: GPL-2.0-or-later
 * At which level of interruption code runs. What one level uses (a context, a copy of a statistic)
 * is safe from the others, and a lock is waited for unless what was interrupted may hold it.
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
 * NMI comes at any instruction, whatever its processor holds; a breakpoint stands where it was
 * put, which is nowhere in here: to locks and contexts it is a call of what it interrupted. They
 * are told apart by their stacks. An NMI that interrupts the kernel has one of its own; a
 * breakpoint stays on the stack that it finds, so one inside an NMI is seen as part of it. An NMI
 * that interrupts user space is on its task's stack, and interrupted nobody that holds anything.
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
		/* Each counted as an interrupt, too. */
		count -= exceptions * (NMI_OFFSET + HARDIRQ_OFFSET);
	}
	return count & HARDIRQ_MASK ? 2 : count & SOFTIRQ_OFFSET ? 1 : 0;
}
#else
/* In user space nothing interrupts a handler. */
static inline unsigned int djs_level(void)
{
	return 0;
}

static inline bool djs_in_nmi(void)
{
	return false;
}
#endif

#endif
