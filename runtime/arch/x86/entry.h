/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_X86_ENTRY_H
#define DJSTAP_X86_ENTRY_H

#include <linux/ptrace.h>
#include <asm/irqflags.h>

#include "arch/x86/kernel.h"

static __always_inline void djs_complete_registers(struct pt_regs *regs, const unsigned long *frame)
{
	regs->flags = arch_local_save_flags(); /* only the interrupt flag matters */
	regs->ip = frame[0] - DJS_CALL_BYTES;
	regs->sp = (unsigned long)&frame[1];
	regs->orig_ax = -1;
	regs->cs = __KERNEL_CS;
	regs->ss = __KERNEL_DS;
}

#endif
