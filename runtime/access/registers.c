// SPDX-License-Identifier: GPL-2.0-or-later
// Registers by number: @kregister, @uregister.
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>

#include "control/runtime.h"
#include "include/registers.h"

#define DJS_REGISTERS (sizeof(struct pt_regs) / sizeof(unsigned long))

DJS_HANDLER_CODE u64 djs_kernel_register(struct djs_ctx *ctx, u32 index, u32 place)
{
	if (!ctx->regs || ctx->user_regs || index >= DJS_REGISTERS) {
		djs_fail_text(ctx, place, "this place has no registers of the kernel");
		return 0;
	}
	return ((unsigned long *)ctx->regs)[index];
}

DJS_HANDLER_CODE u64 djs_user_register(struct djs_ctx *ctx, u32 index, u32 place)
{
	struct pt_regs *regs = ctx->user_regs ? ctx->regs : NULL;

	if (!regs && current->mm)
		regs = task_pt_regs(current);
	if (!regs || index >= DJS_REGISTERS) {
		djs_fail_text(ctx, place, "this task has no registers of user space");
		return 0;
	}
	return ((unsigned long *)regs)[index];
}
