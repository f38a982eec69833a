// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks and the symbols of addresses.
//
// A stack is an array of words: the number of its addresses, then these, the innermost first.
// Generated code keeps stacks in this form, as keys of arrays and in records (record.h), and
// calls djs_stack_text() only where a script looks at the characters.
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>

#include <asm/unwind.h>

#include "access/access.h"
#include "arch/runtime.h"
#include "include/functions.h"
#include "include/text.h"
#include "include/words.h"
#include "record/symbols.h"
#include "sites/sites.h"
#include "ustack/ustack.h"

#define TRACE_MAX 144 /* addresses of a walk, including those above the probe */
#define SYMBOL_AT ((1 + TRACE_MAX) * sizeof(u64))
DJS_STATIC_ASSERT(SYMBOL_AT + DJS_SYMBOL_MAX <= DJS_WORK_BYTES, "the work area is too small");

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
			    min_t(u32, TRACE_MAX, trace->first + djs_script.max_backtrace);
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
	u32 left = TRACE_MAX;

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
	count = stack_trace_save(saved, TRACE_MAX, 0);
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

/* Collects the stack from the probed place on, or from the place that a sample interrupted, in the
 * work area: *entries is the first of the returned number of addresses. Empty if a process was
 * interrupted in user mode: it has no calls in the kernel. */
static DJS_HANDLER_CODE u32 trace_stack(struct djs_ctx *ctx, u64 **entries)
{
	struct trace trace = {
	    .entries = (u64 *)ctx->work + 1,
	    .most = TRACE_MAX,
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
	u32 count = trace_stack(ctx, &entries);

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
	u32 count = trace_stack(ctx, &entries);

	stack = entries - 1; /* the work area has room for the number in front of them */
	stack[0] = count;
	djs_stack_text(out, stack);
}

DJS_HANDLER_CODE s64 djs_fn_stack(struct djs_ctx *ctx, s64 depth)
{
	u64 *entries;
	u32 count = trace_stack(ctx, &entries);

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

/*
 * Returns "name+0x1/0x20 [module]", or [kernel] when no module contains the address, in the work
 * area behind the trace.
 */
static DJS_HANDLER_CODE char *symbol_of(struct djs_ctx *ctx, unsigned long address)
{
	char *symbol = ctx->work + SYMBOL_AT;

	if (!djs_symbol_copy(symbol, address))
		djs_symbol_of(symbol, address);
	return symbol;
}

/* "name+0x1 [module]" */
static DJS_HANDLER_CODE char *symbol_without_size(struct djs_ctx *ctx, unsigned long address)
{
	char *symbol = symbol_of(ctx, address), *size = strchr(symbol, '/'), *module;

	if (!size || djs_is_user_word(address)) /* a program's path, and no size */
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
	*(u32 *)(record + 1) = scnprintf((char *)(record + 1) + sizeof(u32), room, " 0x%llx : %s\n",
					 djs_word_address(address), symbol);
	djs_commit(ctx, record, size);
}

/*
 * Records the addresses, whose symbols readers know by their slots; if some have no slot, the
 * lines. `addresses`: not in the work area.
 */
static DJS_HANDLER_CODE void print_addresses(struct djs_ctx *ctx, const u64 *addresses, u32 count)
{
	u32 size = sizeof(struct djs_record) + (1 + count) * sizeof(u64), i;
	u64 *slots = (u64 *)ctx->work;
	struct djs_record *record;

	if (!count)
		return;
	if (!djs_symbol_slots(addresses, count, slots)) {
		for (i = 0; i < count; i++)
			if (addresses[i])
				print_line(ctx, addresses[i]);
		return;
	}
	record = djs_reserve(ctx, DJS_RECORD_STACK, size);
	if (!record)
		return;
	*(u64 *)(record + 1) = count;
	memcpy((u64 *)(record + 1) + 1, slots, count * sizeof(u64));
	djs_commit(ctx, record, size);
}

DJS_HANDLER_CODE void djs_print_stack(struct djs_ctx *ctx, const u64 *stack)
{
	print_addresses(ctx, stack + 1, stack[0]);
}

#define ADDRESSES_AT_ONCE 16

/* The word of an address in a string that ubacktrace() returned: calls return to all but the first.
 */
static DJS_HANDLER_CODE u64 word_of_text(struct djs_ctx *ctx, u64 address, bool of_program,
					 bool is_first)
{
	return of_program ? djs_user_word(ctx, address, !is_first) : address;
}

/* Prints a line for each address of a string that backtrace() returned. */
static DJS_HANDLER_CODE void print_strings(struct djs_ctx *ctx, const char *addresses,
					   bool of_program)
{
	u64 parsed[ADDRESSES_AT_ONCE];
	u32 count = 0;
	bool is_first = true;

	while (*addresses) {
		unsigned long address = 0;
		int digit;

		while (*addresses == ' ')
			addresses++;
		if (addresses[0] == '0' && addresses[1] == 'x')
			addresses += 2;
		for (; (digit = hex_to_bin(*addresses)) >= 0; addresses++)
			address = address << 4 | digit;
		if (address) {
			parsed[count++] = word_of_text(ctx, address, of_program, is_first);
			is_first = false;
		}
		while (*addresses && *addresses != ' ')
			addresses++;
		if (count == ADDRESSES_AT_ONCE) {
			print_addresses(ctx, parsed, count);
			count = 0;
		}
	}
	print_addresses(ctx, parsed, count);
}

DJS_HANDLER_CODE void djs_fn_print_stack(struct djs_ctx *ctx, const char *addresses)
{
	print_strings(ctx, addresses, false);
}

DJS_HANDLER_CODE void djs_fn_print_syms(struct djs_ctx *ctx, const char *addresses)
{
	djs_fn_print_stack(ctx, addresses);
}

/* "name", from "name+0x1/0x20 [module]" */
static DJS_HANDLER_CODE const char *only_name(char *symbol)
{
	symbol[strcspn(symbol, "+ ")] = 0;
	return symbol;
}

#define CUT_MARK "...\n" /* the last line of a truncated trace */

/* sprint_backtrace(), of addresses that may be in the work area. */
static DJS_HANDLER_CODE void trace_text(struct djs_ctx *ctx, char *out, const u64 *addresses,
					u32 count)
{
	size_t done = 0, size = djs_script.string_bytes;
	u32 i;

	*out = 0;
	for (i = 0; i < count; i++) {
		const char *symbol = symbol_without_size(ctx, addresses[i]);
		size_t mark = i + 1 < count ? strlen(CUT_MARK) : 0;

		if (done + strlen(symbol) + 1 + mark >= size) {
			scnprintf(out + done, size - done, CUT_MARK);
			break; /* no partial names */
		}
		done += scnprintf(out + done, size - done, "%s\n", symbol);
	}
}

DJS_HANDLER_CODE void djs_fn_sprint_backtrace(struct djs_ctx *ctx, char *out)
{
	u64 *trace;
	u32 count = trace_stack(ctx, &trace);

	trace_text(ctx, out, trace, count);
}

/* Adds a line of sprint_syms(), the first one as far as it fits. False: there is no room for it. */
static DJS_HANDLER_CODE bool add_line(struct djs_ctx *ctx, char *out, size_t *done,
				      const char *word, size_t length, u64 address)
{
	const char *symbol = symbol_of(ctx, address);
	size_t size = djs_script.string_bytes;

	if (*done && *done + length + strlen(symbol) + strlen("  : \n") >= size)
		return false;
	*done += scnprintf(out + *done, size - *done, " %.*s : %s\n", (int)length, word, symbol);
	return true;
}

static DJS_HANDLER_CODE void lines_of_strings(struct djs_ctx *ctx, char *out, const char *addresses,
					      bool of_program)
{
	size_t done = 0, length;
	bool is_first = true;

	*out = 0;
	for (;; addresses += length) {
		u64 address;

		addresses += strspn(addresses, " ");
		length = strcspn(addresses, " ");
		if (!length)
			return;
		address = djs_text_to_long(addresses, 16);
		address = word_of_text(ctx, address, of_program, is_first);
		if (!add_line(ctx, out, &done, addresses, length, address))
			return;
		is_first = false;
	}
}

DJS_HANDLER_CODE void djs_fn_sprint_syms(struct djs_ctx *ctx, char *out, const char *addresses)
{
	lines_of_strings(ctx, out, addresses, false);
}

DJS_HANDLER_CODE void djs_fn_sprint_stack(struct djs_ctx *ctx, char *out, const char *addresses)
{
	djs_fn_sprint_syms(ctx, out, addresses);
}

/* The same of a stack, whose addresses may be in the work area. */
static DJS_HANDLER_CODE void lines_text(struct djs_ctx *ctx, char *out, const u64 *addresses,
					u32 count)
{
	size_t done = 0;
	char word[20];
	u32 i;

	*out = 0;
	for (i = 0; i < count; i++) {
		int length =
		    scnprintf(word, sizeof(word), "0x%llx", djs_word_address(addresses[i]));

		if (!add_line(ctx, out, &done, word, length, addresses[i]))
			return;
	}
}

/* The work area keeps the addresses while slots, or the text, replace them. */
DJS_HANDLER_CODE u64 djs_symbols_argument(struct djs_ctx *ctx, u64 *words, u32 type)
{
	u64 *addresses = (u64 *)ctx->work;
	char *text = (char *)(words + 1);
	u32 count = words[0];

	memcpy(addresses, words + 1, count * sizeof(u64));
	if (djs_symbol_slots(addresses, count, words + 1))
		return (1 + (u64)count) * sizeof(u64);
	if (type == DJS_SYMBOLS_BACKTRACE)
		trace_text(ctx, text, addresses, count);
	else if (type == DJS_SYMBOLS_LINES)
		lines_text(ctx, text, addresses, count);
	else if (type == DJS_SYMBOLS_NAME)
		djs_return_text(text, only_name(symbol_of(ctx, addresses[0])));
	else
		djs_return_text(text, symbol_of(ctx, addresses[0]));
	words[0] = strlen(text);
	count = DJS_ALIGN8(words[0]);
	words[0] |= DJS_SYMBOLS_ARE_TEXT;
	return sizeof(u64) + count;
}

DJS_HANDLER_CODE void djs_fn_symdata(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, symbol_of(ctx, address));
}

DJS_HANDLER_CODE void djs_fn_symname(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, only_name(symbol_of(ctx, address)));
}

/* Returns the module that contains an address, or "kernel". */
DJS_HANDLER_CODE void djs_fn_modname(struct djs_ctx *ctx, char *out, s64 address)
{
	char *symbol = symbol_of(ctx, address), *name = strchr(symbol, '[');

	*out = 0;
	if (name) {
		name[strcspn(name, "]")] = 0;
		djs_return_text(out, name + 1);
	} else {
		djs_fail(ctx, "Cannot determine kernel module name", DJS_NO_PLACE);
	}
}

/* ---- the program's stack, and the current process's addresses ---------------------------------
 *
 * Here, where a script looks at the characters, files and offsets are known, but no symbols. */

DJS_HANDLER_CODE void djs_fn_ubacktrace(struct djs_ctx *ctx, char *out)
{
	u64 *stack = (u64 *)ctx->work;

	djs_user_trace(ctx, stack);
	djs_stack_text(out, stack);
}

DJS_HANDLER_CODE void djs_fn_sprint_ubacktrace(struct djs_ctx *ctx, char *out)
{
	u64 *stack = (u64 *)ctx->work;

	djs_user_trace(ctx, stack);
	trace_text(ctx, out, stack + 1, stack[0]);
}

DJS_HANDLER_CODE s64 djs_fn_ustack(struct djs_ctx *ctx, s64 depth)
{
	u64 *stack = (u64 *)ctx->work;

	djs_user_trace(ctx, stack);
	if (depth >= 0 && depth < stack[0])
		return djs_word_address(stack[1 + depth]);
	djs_fail_text(ctx, DJS_NO_PLACE, "reached end of stack before unwinding to level %lld",
		      depth);
	return 0;
}

DJS_HANDLER_CODE void djs_fn_print_usyms(struct djs_ctx *ctx, const char *addresses)
{
	print_strings(ctx, addresses, true);
}

DJS_HANDLER_CODE void djs_fn_sprint_usyms(struct djs_ctx *ctx, char *out, const char *addresses)
{
	lines_of_strings(ctx, out, addresses, true);
}

DJS_HANDLER_CODE void djs_fn_print_ustack(struct djs_ctx *ctx, const char *addresses)
{
	print_strings(ctx, addresses, true);
}

DJS_HANDLER_CODE void djs_fn_sprint_ustack(struct djs_ctx *ctx, char *out, const char *addresses)
{
	lines_of_strings(ctx, out, addresses, true);
}

DJS_HANDLER_CODE void djs_fn_usymdata(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, symbol_of(ctx, djs_user_word(ctx, address, 0)));
}

DJS_HANDLER_CODE void djs_fn_usymname(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, only_name(symbol_of(ctx, djs_user_word(ctx, address, 0))));
}

DJS_HANDLER_CODE void djs_fn_usymfileline(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_fn_usymdata(ctx, out, address);
}

/* Returns the path of the file that an address is mapped from. */
DJS_HANDLER_CODE void djs_fn_umodname(struct djs_ctx *ctx, char *out, s64 address)
{
	const char *path = djs_user_path(djs_user_word(ctx, address, 0));

	*out = 0;
	if (path)
		djs_return_text(out, path);
	else
		djs_fail(ctx, "Cannot determine the file of a user-space address", DJS_NO_PLACE);
}
