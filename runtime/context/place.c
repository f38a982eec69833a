// SPDX-License-Identifier: GPL-2.0-or-later
// The place of the hit: pp(), probefunc(), addresses.
#include <linux/sched/task_stack.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "sites/sites.h"

DJS_HANDLER_CODE void djs_fn_pp(struct djs_ctx *ctx, char *out)
{
	if (ctx->site)
		djs_site_point(ctx->site, out, djs_script.string_bytes);
	else
		djs_return_text(out, "");
}

DJS_HANDLER_CODE void djs_fn_pn(struct djs_ctx *ctx, char *out)
{
	if (ctx->site)
		djs_site_name(ctx->site, out, djs_script.string_bytes);
	else
		djs_return_text(out, "");
}

DJS_HANDLER_CODE void djs_fn_probefunc(struct djs_ctx *ctx, char *out)
{
	djs_return_text(out, ctx->site ? djs_site_text(ctx->site->function) : "");
}

DJS_HANDLER_CODE void djs_fn_ppfunc(struct djs_ctx *ctx, char *out)
{
	djs_fn_probefunc(ctx, out);
}

static DJS_HANDLER_CODE bool is_point(const struct djs_site *site, const char *start)
{
	return !strncmp(djs_site_text(site->point), start, strlen(start));
}

/* The names that SystemTap gives to the mechanisms. */
static DJS_HANDLER_CODE const char *probe_type(const struct djs_ctx *ctx)
{
	const struct djs_site *site = ctx->site;
	const u32 mechanism = site ? site->mechanism : DJS_MECHANISM_NONE;

	switch (mechanism) {
	case DJS_MECHANISM_NONE:
		return "begin_end";
	case DJS_MECHANISM_TIMER:
		return is_point(site, "timer.jiffies") ? "timer" : "hrtimer";
	case DJS_MECHANISM_PERF:
		return is_point(site, "timer.profile") ? "profile_timer" : "perf_event";
	case DJS_MECHANISM_TRACEPOINT:
		return "kernel_tracepoint";
	}
	/* A mechanism that --mechanism cannot select has its sites outside functions. */
	if (!djs_mechanism_can(mechanism, DJS_CAN_BE_FORCED))
		return djs_mechanism_name(mechanism);
	return ctx->handler->kind == DJS_HANDLER_RETURN ? "kretprobe" : "kprobe";
}

DJS_HANDLER_CODE void djs_fn_probe_type(struct djs_ctx *ctx, char *out)
{
	djs_return_text(out, probe_type(ctx));
}

DJS_HANDLER_CODE s64 djs_fn_is_return(struct djs_ctx *ctx)
{
	return ctx->handler->kind == DJS_HANDLER_RETURN;
}

DJS_HANDLER_CODE s64 djs_fn_user_mode(struct djs_ctx *ctx)
{
	return ctx->user_regs;
}

DJS_HANDLER_CODE s64 djs_fn_registers_valid(struct djs_ctx *ctx)
{
	return ctx->regs != NULL;
}

/* Returns the address of the hit; at a function's entry, that of the function. 0: none. */
DJS_HANDLER_CODE s64 djs_fn_addr(struct djs_ctx *ctx)
{
	const struct djs_site *site = ctx->site;

	if (site && djs_mechanism_can(site->mechanism, DJS_HAS_CALLBACK))
		return 0;
	if (site && djs_mechanism_can(site->mechanism, DJS_IN_PROGRAM))
		return ctx->address;
	if (!site || !site->address)
		return ctx->regs ? instruction_pointer(ctx->regs) : 0;
	return (djs_mechanism_can(site->mechanism, DJS_AT_FENTRY) ? djs_site_entry(site)
								  : site->address) +
	       djs_site_bias(site);
}

DJS_HANDLER_CODE s64 djs_fn_returnval(struct djs_ctx *ctx)
{
	if (ctx->handler->kind == DJS_HANDLER_RETURN)
		return ctx->return_value;
	djs_fail(ctx, "returnval() is available only in return probes", DJS_NO_PLACE);
	return 0;
}

/* Returns argument `n`, counted from 1, by the calling convention of the kernel's functions. */
DJS_HANDLER_CODE s64 djs_fn_long_arg(struct djs_ctx *ctx, s64 n)
{
	const struct pt_regs *regs = ctx->regs;

	/* A return probe evaluates its @entry() values at function entry. When the function has
	 * returned, a return djprobe has no registers. */
	const bool at_entry =
	    regs && (ctx->handler->kind == DJS_HANDLER_ENTRY ||
		     (ctx->handler->kind == DJS_HANDLER_RETURN && !ctx->returned));

	const bool syscall = ctx->handler->flags & DJS_HANDLER_SYSCALL;

	if ((!at_entry && !syscall) || n < 1) {
		djs_fail_text(ctx, DJS_NO_PLACE, "argument %lld is not available here", n);
		return 0;
	}
	if (syscall) {
		/* The registers of the program are where they were until the call returns to it.
		 * Only the kernel's function of a call has them as its argument. */
		const bool in_function =
		    at_entry && !(ctx->site && ctx->site->mechanism == DJS_MECHANISM_PROCESS);
		const u64 saved =
		    in_function ? djs_register_argument(regs, 1) : (u64)task_pt_regs(current);

		if (n > DJS_SYSCALL_ARGUMENTS) {
			djs_fail_text(ctx, DJS_NO_PLACE, "a system call has no argument %lld", n);
			return 0;
		}
		return djs_load_here(ctx, saved + djs_syscall_argument(n), sizeof(long),
				     DJS_NO_PLACE);
	}
	if (n <= DJS_REGISTER_ARGUMENTS)
		return djs_register_argument(regs, n);
	/* A program's stack pointer is whatever the program makes it. */
	if (ctx->user_regs)
		return djs_load_user(ctx, djs_stack_argument(regs, n), sizeof(long), DJS_NO_PLACE);
	return djs_load_here(ctx, djs_stack_argument(regs, n), sizeof(long), DJS_NO_PLACE);
}

/* Returns the address at which the task's user code resumes. */
DJS_HANDLER_CODE s64 djs_fn_uaddr(struct djs_ctx *ctx)
{
	return current->mm ? instruction_pointer(task_pt_regs(current)) : 0;
}
