/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much is left of the current stack. The stack of a task is aligned to its size; the kernel
 * keeps the end of an interrupt's stack for each CPU. The stacks of exceptions (NMI, machine check)
 * are not known here: nothing nests on them.
 */
#ifndef DJSTAP_STACK_H
#define DJSTAP_STACK_H

#ifdef __KERNEL__
#include <linux/percpu.h>
#include <linux/sched/task_stack.h>

#include "include/script.h"

/* True if half a task's stack is left; a handler needs no more than DJS_STACK_MAX. */
static __always_inline bool djs_stack_is_ample(void)
{
	BUILD_BUG_ON(THREAD_SIZE / 2 < DJS_STACK_MAX);
	return current_stack_pointer & (THREAD_SIZE / 2);
}

static __always_inline unsigned long djs_irq_stack_end(void)
{
#if defined(DJS_HAVE_PCPU_HOT)
	return (unsigned long)raw_cpu_read(pcpu_hot.hardirq_stack_ptr);
#else
	unsigned long __percpu *end = (unsigned long __percpu *)djs_script.irq_stack;

	return end ? raw_cpu_read(*end) : 0;
#endif
}

/* In bytes; ULONG_MAX if unknown. */
static __always_inline unsigned long djs_stack_left(void)
{
	unsigned long at = current_stack_pointer, end;
	unsigned long left = at - (unsigned long)task_stack_page(current);

	if (likely(left < THREAD_SIZE))
		return left;
	end = djs_irq_stack_end();
	return end - at < IRQ_STACK_SIZE ? IRQ_STACK_SIZE - (end - at) : ULONG_MAX;
}
#endif

#endif
