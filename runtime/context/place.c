// SPDX-License-Identifier: GPL-2.0-or-later
// The place of the hit: pp(), probefunc(), addresses, stack traces, symbols.
#include <linux/kallsyms.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>

#include <asm/unwind.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "sites/sites.h"

static DJS_HANDLER_CODE void copy_text(char *out, const char *text)
{
	djs_text_copy(out, text ?: "", djs_script.string_bytes);
}

DJS_HANDLER_CODE void djs_fn_pp(struct djs_ctx *ctx, char *out)
{
	copy_text(out, ctx->site ? ctx->site->point : NULL);
}

DJS_HANDLER_CODE void djs_fn_pn(struct djs_ctx *ctx, char *out)
{
	copy_text(out, ctx->site ? ctx->site->name : NULL);
}

DJS_HANDLER_CODE void djs_fn_probefunc(struct djs_ctx *ctx, char *out)
{
	copy_text(out, ctx->site ? ctx->site->function : NULL);
}

DJS_HANDLER_CODE void djs_fn_ppfunc(struct djs_ctx *ctx, char *out)
{
	djs_fn_probefunc(ctx, out);
}

static DJS_HANDLER_CODE bool is_point(const struct djs_site *site, const char *start)
{
	return !strncmp(site->point, start, strlen(start));
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
	copy_text(out, probe_type(ctx));
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

	if (site && site->mechanism == DJS_MECHANISM_TRACEPOINT)
		return 0;
	if (!site || !site->address)
		return ctx->regs ? instruction_pointer(ctx->regs) : 0;
	return (djs_mechanism_can(site->mechanism, DJS_AT_FENTRY) ? site->entry : site->address) +
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

	/* A return probe evaluates its @entry() values at function entry. */
	const bool at_entry = ctx->handler->kind == DJS_HANDLER_ENTRY ||
			      (ctx->handler->kind == DJS_HANDLER_RETURN && !ctx->returned);

	if (!regs || !at_entry || n < 1) {
		djs_fail_text(ctx, DJS_NO_PLACE, "argument %lld is not available here", n);
		return 0;
	}
	if (n <= DJS_REGISTER_ARGUMENTS)
		return djs_register_argument(regs, n);
	return djs_load(ctx, djs_stack_argument(regs, n), sizeof(long), DJS_NO_PLACE);
}

/* Returns the address at which the task's user code resumes. */
DJS_HANDLER_CODE s64 djs_fn_uaddr(struct djs_ctx *ctx)
{
	return current->mm ? instruction_pointer(task_pt_regs(current)) : 0;
}

#define TRACE_MAX 144 /* addresses in the work area, including those above the probe */
#define SYMBOL_AT (TRACE_MAX * sizeof(unsigned long))
#define OF_KERNEL " [kernel]"
DJS_STATIC_ASSERT(SYMBOL_AT + KSYM_SYMBOL_LEN <= DJS_WORK_BYTES, "the work area is too small");
DJS_STATIC_ASSERT(sizeof(OF_KERNEL) <= MODULE_NAME_LEN, "there is no room behind a symbol");

/*
 * The trampoline of a return djprobe calls the function, and the function's own direct call called
 * the trampoline: each such call adds two entries that do not belong to the kernel. The top entries
 * are the callers of this function.
 */
static DJS_HANDLER_CODE unsigned int leave_trampolines_out(unsigned long *entries,
							   unsigned int count)
{
	unsigned int i = 0, kept;

	while (i < count && within_module(entries[i], THIS_MODULE))
		i++;
	for (kept = i; i < count; i++) {
		if (within_module(entries[i], THIS_MODULE))
			i++;
		else
			entries[kept++] = entries[i];
	}
	return kept;
}

/* Returns the index of the first entry from `address` to `address + reach`; `count`: none. */
static DJS_HANDLER_CODE unsigned int find_entry(const unsigned long *entries, unsigned int count,
						unsigned long address, unsigned long reach)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (entries[i] - address <= reach)
			break;
	return i;
}

/*
 * Collects the calls that led to the code that a sample interrupted, starting with its own address.
 */
static DJS_HANDLER_CODE unsigned int trace_sample(struct pt_regs *regs, unsigned long *entries)
{
	unsigned int count = 1;
#ifdef CONFIG_UNWINDER_ORC
	struct unwind_state frames;
	unsigned long address;
#endif

	entries[0] = instruction_pointer(regs);
#ifdef CONFIG_UNWINDER_ORC
	/* The walk begins at its caller. */
	for (unwind_start(&frames, current, regs, NULL); !unwind_done(&frames) && count < TRACE_MAX;
	     unwind_next_frame(&frames)) {
		address = unwind_get_return_address(&frames);
		if (!address)
			break;
		entries[count++] = address;
	}
#endif
	return count;
}

/* Finds the entry of the probed place: by its address (a direct call returns behind its site), or
 * by the address in the registers (a kprobe near its site, a return), else the first entry outside
 * this module. */
static DJS_HANDLER_CODE unsigned int find_probed(struct djs_ctx *ctx, unsigned long address,
						 unsigned long *entries, unsigned int count)
{
	unsigned int first = find_entry(entries, count, address, DJS_CALL_BYTES);

	if (address && first < count) {
		entries[first] = djs_fn_addr(ctx);
		return first;
	}
	first =
	    ctx->regs ? find_entry(entries, count, instruction_pointer(ctx->regs) - 1, 1) : count;
	if (first < count)
		return first;
	for (first = 0; first < count; first++)
		if (!within_module(entries[first], THIS_MODULE))
			break;
	return first;
}

/* Collects the stack from the probed place on, in the work area: *trace is the first of the
 * returned number of entries. Empty if a process was interrupted in user mode: it has no calls in
 * the kernel. */
static DJS_HANDLER_CODE u32 trace_stack(struct djs_ctx *ctx, unsigned long **trace)
{
	unsigned long *entries = (unsigned long *)ctx->work;
	const struct djs_site *site = ctx->site;
	unsigned long address = site && site->address ? site->address + djs_site_bias(site) : 0;
	unsigned int count, first = 0;

	*trace = entries;
	if (ctx->user_regs)
		return 0;
	if (ctx->regs && !address) {
		count = leave_trampolines_out(entries, trace_sample(ctx->regs, entries));
	} else {
		count = leave_trampolines_out(entries, stack_trace_save(entries, TRACE_MAX, 0));
		first = find_probed(ctx, address, entries, count);
	}
	*trace = entries + first;
	return min(count - first, djs_script.max_backtrace);
}

DJS_HANDLER_CODE s64 djs_fn_stack(struct djs_ctx *ctx, s64 depth)
{
	unsigned long *trace;
	u32 count = trace_stack(ctx, &trace);

	if (depth >= 0 && depth < count)
		return trace[depth];
	djs_fail_text(ctx, DJS_NO_PLACE, "reached end of stack before unwinding to level %lld",
		      depth);
	return 0;
}

/* Size of the kernel stack, and the number of bytes in use. */
DJS_HANDLER_CODE s64 djs_fn_stack_size(struct djs_ctx *ctx)
{
	return THREAD_SIZE;
}

DJS_HANDLER_CODE s64 djs_fn_stack_used(struct djs_ctx *ctx)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long top = (unsigned long)task_stack_page(current) + THREAD_SIZE;

	return top - here <= THREAD_SIZE ? top - here : 0; /* 0: on an interrupt's stack */
}

/* Addresses in hexadecimal, separated by spaces. */
DJS_HANDLER_CODE void djs_fn_backtrace(struct djs_ctx *ctx, char *out)
{
	unsigned long *trace;
	u32 count = trace_stack(ctx, &trace), i;
	size_t done = 0, size = djs_script.string_bytes;

	*out = 0;
	for (i = 0; i < count; i++) {
		char word[20];
		size_t length = scnprintf(word, sizeof(word), "%s0x%lx", i ? " " : "", trace[i]);

		if (done + length >= size)
			break; /* no partial addresses */
		memcpy(out + done, word, length + 1);
		done += length;
	}
}

/*
 * Returns "name+0x1/0x20 [module]", or [kernel] when no module contains the address, in the work
 * area behind the trace.
 */
static DJS_HANDLER_CODE char *symbol_of(struct djs_ctx *ctx, unsigned long address)
{
	char *symbol = ctx->work + SYMBOL_AT;

	sprint_symbol(symbol, address);
	if (strchr(symbol, '+') && !strchr(symbol, '['))
		memcpy(symbol + strlen(symbol), OF_KERNEL, sizeof(OF_KERNEL));
	return symbol;
}

/* "name+0x1 [module]" */
static DJS_HANDLER_CODE char *symbol_without_size(struct djs_ctx *ctx, unsigned long address)
{
	char *symbol = symbol_of(ctx, address), *size = strchr(symbol, '/'), *module;

	if (!size)
		return symbol;
	module = size + strcspn(size, " ");
	memmove(size, module, strlen(module) + 1);
	return symbol;
}

static DJS_HANDLER_CODE void print_line(struct djs_ctx *ctx, unsigned long address)
{
	const char *symbol = symbol_of(ctx, address);
	size_t room = 24 + strlen(symbol) + 2;
	u32 size = sizeof(struct djs_record) + DJS_ALIGN8(sizeof(u32) + room);
	struct djs_record *record = djs_reserve(ctx, DJS_RECORD_TEXT, size);

	if (!record)
		return;
	*(u32 *)(record + 1) =
	    scnprintf((char *)(record + 1) + sizeof(u32), room, " 0x%lx : %s\n", address, symbol);
	djs_commit(ctx, record, size);
}

DJS_HANDLER_CODE void djs_fn_print_backtrace(struct djs_ctx *ctx)
{
	unsigned long *trace;
	u32 count = trace_stack(ctx, &trace), i;

	for (i = 0; i < count; i++)
		print_line(ctx, trace[i]);
}

#define CUT_MARK "...\n" /* the last line of a truncated trace */

DJS_HANDLER_CODE void djs_fn_sprint_backtrace(struct djs_ctx *ctx, char *out)
{
	unsigned long *trace;
	u32 count = trace_stack(ctx, &trace), i;
	size_t done = 0, size = djs_script.string_bytes;

	*out = 0;
	for (i = 0; i < count; i++) {
		const char *symbol = symbol_without_size(ctx, trace[i]);
		size_t mark = i + 1 < count ? strlen(CUT_MARK) : 0;

		if (done + strlen(symbol) + 1 + mark >= size) {
			scnprintf(out + done, size - done, CUT_MARK);
			break; /* no partial names */
		}
		done += scnprintf(out + done, size - done, "%s\n", symbol);
	}
}

/* Prints a line for each address of a string that backtrace() returned. */
DJS_HANDLER_CODE void djs_fn_print_stack(struct djs_ctx *ctx, const char *addresses)
{
	while (*addresses) {
		unsigned long address = 0;
		int digit;

		while (*addresses == ' ')
			addresses++;
		if (addresses[0] == '0' && addresses[1] == 'x')
			addresses += 2;
		for (; (digit = hex_to_bin(*addresses)) >= 0; addresses++)
			address = address << 4 | digit;
		if (address)
			print_line(ctx, address);
		while (*addresses && *addresses != ' ')
			addresses++;
	}
}

DJS_HANDLER_CODE void djs_fn_symdata(struct djs_ctx *ctx, char *out, s64 address)
{
	copy_text(out, symbol_of(ctx, address));
}

DJS_HANDLER_CODE void djs_fn_symname(struct djs_ctx *ctx, char *out, s64 address)
{
	char *symbol = symbol_of(ctx, address);

	symbol[strcspn(symbol, "+ ")] = 0;
	copy_text(out, symbol);
}

/* Returns the module that contains an address, or "kernel". */
DJS_HANDLER_CODE void djs_fn_modname(struct djs_ctx *ctx, char *out, s64 address)
{
	char *symbol = symbol_of(ctx, address), *name = strchr(symbol, '[');

	*out = 0;
	if (name) {
		name[strcspn(name, "]")] = 0;
		copy_text(out, name + 1);
	} else {
		djs_fail(ctx, "Cannot determine kernel module name", DJS_NO_PLACE);
	}
}
