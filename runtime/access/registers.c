// SPDX-License-Identifier: GPL-2.0-or-later
// Registers by number: @kregister, @uregister.
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "include/registers.h"

#define DJS_REGISTERS (sizeof(struct pt_regs) / sizeof(unsigned long))

DJS_HANDLER_CODE u64 djs_kernel_register(struct djs_ctx *ctx, u32 index, u32 place)
{
	if (!ctx->regs || ctx->user_regs || index >= DJS_REGISTERS) {
		djs_fail_text(ctx, place, "kernel registers are not available here");
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
		djs_fail_text(ctx, place, "this task has no user-space registers");
		return 0;
	}
	return ((unsigned long *)regs)[index];
}

DJS_HANDLER_CODE void djs_fn_print_regs(struct djs_ctx *ctx)
{
	const struct pt_regs *regs = ctx->regs;

	if (!regs)
		return;
	djs_format_registers(ctx->work, DJS_WORK_BYTES, regs);
	djs_record_text(ctx, DJS_RECORD_TEXT, ctx->work, 0);
}
