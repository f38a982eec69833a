// SPDX-License-Identifier: GPL-2.0-or-later
// Takes call stacks of the kernel. stack_text.c shows them.
//
// A stack is an array of words: the number of its addresses, then these, the innermost first.
// Generated code keeps stacks in this form, as keys of arrays and in records (record.h), and
// calls djs_stack_text() only where a script looks at the characters.
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>

#include <asm/unwind.h>

#include "access/access.h"
#include "arch/runtime.h"
#include "context/stack.h"
#include "include/functions.h"
#include "include/words.h"
#include "sites/sites.h"

#define NOT_FOUND (~0u)

/* The addresses of a walk, the innermost first, and where among them the wanted ones begin. */
struct trace {
	u64 *entries;
	u32 count;
	u32 most;    /* the walk ends with this many entries */
	u32 first;   /* the entry of the probed place; NOT_FOUND: it is still to come */
	u64 probed;  /* its address; 0: unknown, it is the first one outside this module */
	bool inside; /* all entries so far are this module's */
	bool skips;  /* the next address does not count */
};

static inline bool is_own(unsigned long address)
{
#ifdef MODULES_VADDR
	if (address < MODULES_VADDR)
		return false;
#endif
	return within_module(address, THIS_MODULE);
}

/*
 * Adds the next address of a walk; false: it is the last one. The trampoline of a return djprobe
 * calls the function, and the function's own direct call called the trampoline: each such call adds
 * two addresses that do not belong to the kernel, and are left out. Where a walk begins in this
 * module, its addresses are those of the handler.
 */
static DJS_HANDLER_CODE bool add_address(struct trace *trace, unsigned long address)
{
	if (trace->skips) {
		trace->skips = false;
		return true;
	}
	if (is_own(address)) {
		trace->skips = !trace->inside;
		if (trace->skips)
			return true;
	} else {
		trace->inside = false;
		/* A direct call returns behind its site. */
		if (trace->first == NOT_FOUND &&
		    (!trace->probed || address - trace->probed <= DJS_CALL_BYTES)) {
			trace->first = trace->count;
			trace->most =
			    min_t(u32, DJS_TRACE_MAX, trace->first + djs_script.max_backtrace);
		}
	}
	trace->entries[trace->count++] = address;
	return trace->count < trace->most;
}

#ifdef CONFIG_UNWINDER_ORC
/* Walks over the callers of the place with these registers, or, without registers, of this
 * function. Bounded, whatever the unwinder finds. */
static DJS_HANDLER_CODE void walk_callers(struct trace *trace, struct pt_regs *regs)
{
	struct unwind_state frames;
	u32 left = DJS_TRACE_MAX;

	for (unwind_start(&frames, current, regs, NULL); left && !unwind_done(&frames);
	     unwind_next_frame(&frames), left--) {
		unsigned long address = unwind_get_return_address(&frames);

		if (!address || !add_address(trace, address))
			break;
	}
}
#else
static DJS_HANDLER_CODE void walk_callers(struct trace *trace, struct pt_regs *regs)
{
	unsigned long *saved =
	    (unsigned long *)trace->entries; /* each is read before it is replaced */
	u32 count, i;

	if (regs)
		return;
	count = stack_trace_save(saved, DJS_TRACE_MAX, 0);
	for (i = 0; i < count && add_address(trace, saved[i]);)
		i++;
}
#endif

/* Returns the address of the probed instruction or function; 0: there is none. */
static DJS_HANDLER_CODE unsigned long probed_address(const struct djs_ctx *ctx)
{
	const struct djs_site *site = ctx->site;

	return site && site->address ? site->address + djs_site_bias(site) : 0;
}

/*
 * Finds the probed place after a walk that its address was not in: by the address in the registers
 * (a kprobe near its site, a return), else the first entry outside this module.
 */
static DJS_HANDLER_CODE u32 find_probed(const struct djs_ctx *ctx, const struct trace *trace)
{
	u32 i;

	if (ctx->regs)
		for (i = 0; i < trace->count; i++)
			if (trace->entries[i] - (instruction_pointer(ctx->regs) - 1) <= 1)
				return i;
	for (i = 0; i < trace->count; i++)
		if (!is_own(trace->entries[i]))
			break;
	return i;
}

DJS_HANDLER_CODE u32 djs_trace_stack(struct djs_ctx *ctx, u64 **entries)
{
	struct trace trace = {
	    .entries = (u64 *)ctx->work + 1,
	    .most = DJS_TRACE_MAX,
	    .first = NOT_FOUND,
	    .probed = probed_address(ctx),
	    .inside = true,
	};

	*entries = trace.entries;
	if (ctx->user_regs)
		return 0;
	if (ctx->regs && !trace.probed) {
		trace.first = 0;
		trace.most = djs_script.max_backtrace;
		if (add_address(&trace, instruction_pointer(ctx->regs)))
			walk_callers(&trace, ctx->regs);
	} else {
		walk_callers(&trace, NULL);
		if (trace.first == NOT_FOUND)
			trace.first = find_probed(ctx, &trace);
		else if (trace.probed)
			trace.entries[trace.first] = djs_fn_addr(ctx);
	}
	*entries += trace.first;
	return min(trace.count - trace.first, djs_script.max_backtrace);
}

DJS_HANDLER_CODE void djs_take_stack(struct djs_ctx *ctx, u64 *stack)
{
	u64 *entries;
	u32 count = djs_trace_stack(ctx, &entries);

	stack[0] = count;
	memcpy(stack + 1, entries, count * sizeof(u64));
}

/*
 * The same in the trampoline of a function: its stack pointer when the function was called, and the
 * frame pointer that it got. The walk begins there, and no frame of this module has to be unwound.
 */
DJS_HANDLER_CODE void djs_take_stack_at_entry(struct djs_ctx *ctx, u64 *stack, u64 pointer,
					      u64 frame)
{
#ifdef CONFIG_UNWINDER_ORC
	struct pt_regs regs = DJS_ENTRY_REGISTERS(pointer, frame);
	struct trace trace = {.entries = stack + 1, .most = djs_script.max_backtrace};

	if (add_address(&trace,
			probed_address(ctx) ? djs_fn_addr(ctx) : instruction_pointer(&regs)))
		walk_callers(&trace, &regs);
	stack[0] = trace.count;
#else
	djs_take_stack(ctx, stack);
#endif
}

DJS_HANDLER_CODE void djs_copy_stack(u64 *to, const u64 *from)
{
	memcpy(to, from, (1 + from[0]) * sizeof(u64));
}

/* Addresses in hexadecimal, separated by spaces. */
DJS_HANDLER_CODE void djs_stack_text(char *out, const u64 *stack)
{
	size_t done = 0, size = djs_script.string_bytes;
	u64 i;

	*out = 0;
	for (i = 1; i <= stack[0]; i++) {
		char word[20];
		size_t length = scnprintf(word, sizeof(word), "%s0x%llx", i > 1 ? " " : "",
					  djs_word_address(stack[i]));

		if (done + length >= size)
			break; /* no partial addresses */
		memcpy(out + done, word, length + 1);
		done += length;
	}
}

DJS_HANDLER_CODE void djs_fn_backtrace(struct djs_ctx *ctx, char *out)
{
	u64 *entries, *stack;
	u32 count = djs_trace_stack(ctx, &entries);

	stack = entries - 1; /* the work area has room for the number in front of them */
	stack[0] = count;
	djs_stack_text(out, stack);
}

DJS_HANDLER_CODE s64 djs_fn_stack(struct djs_ctx *ctx, s64 depth)
{
	u64 *entries;
	u32 count = djs_trace_stack(ctx, &entries);

	if (depth >= 0 && depth < count)
		return entries[depth];
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
