// SPDX-License-Identifier: GPL-2.0-or-later
// Prints stacks and the symbols of addresses, or makes text of them: those of the kernel and,
// below, those of the current program.
#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif

#include "access/access.h"
#include "context/stack.h"
#include "include/functions.h"
#include "include/text.h"
#include "include/words.h"
#include "record/symbols.h"
#include "sites/sites.h"
#include "ustack/ustack.h"

#define SYMBOL_AT ((1 + DJS_TRACE_MAX) * sizeof(u64))
DJS_STATIC_ASSERT(SYMBOL_AT + DJS_SYMBOL_MAX <= DJS_WORK_BYTES, "the work area is too small");

/* Whoever owns a program chooses its path: it neither ends a line nor controls a terminal. */
static DJS_HANDLER_CODE void drop_controls(char *text)
{
	for (; *text; text++) {
		u8 here = (u8)text[0], next = (u8)text[1];

		if (here == 0xc2 && next >= 0x80 && next < 0xa0) /* U+0080 and more */
			text[0] = text[1] = '?';
		else if (here < ' ' || here == 0x7f)
			text[0] = '?';
	}
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
	if (djs_is_user_word(address))
		drop_controls(symbol);
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
	djs_commit_here(ctx, record);
}

/*
 * Records the addresses, whose symbols readers know by their slots; if some have no slot, the
 * lines. `addresses`: not in the work area. `how`: 0 or DJS_STACK_FILELINE.
 */
static DJS_HANDLER_CODE void print_addresses(struct djs_ctx *ctx, const u64 *addresses, u32 count,
					     u64 how)
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
	*(u64 *)(record + 1) = count | how;
	memcpy((u64 *)(record + 1) + 1, slots, count * sizeof(u64));
	djs_commit_here(ctx, record);
}

DJS_HANDLER_CODE void djs_print_stack(struct djs_ctx *ctx, const u64 *stack)
{
	print_addresses(ctx, stack + 1, (u32)stack[0], stack[0] & DJS_STACK_FILELINE);
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
			print_addresses(ctx, parsed, count, 0);
			count = 0;
		}
	}
	print_addresses(ctx, parsed, count, 0);
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
	u32 count = djs_trace_stack(ctx, &trace);

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

/* What stands for the place in the source code of a program's address, which only readers know. */
static DJS_HANDLER_CODE void address_text(char *out, u64 address)
{
	scnprintf(out, djs_script.string_bytes, "0x%llx", address);
}

/* The work area keeps the addresses while slots, or the text, replace them. */
DJS_HANDLER_CODE u64 djs_symbols_argument(struct djs_ctx *ctx, u64 *words, u32 type)
{
	u64 *addresses = (u64 *)ctx->work;
	char *text = (char *)(words + 1);
	u32 count = words[0];

	memcpy(addresses, words + 1, count * sizeof(u64));
	if (type && djs_symbol_slots(addresses, count, words + 1))
		return (1 + (u64)count) * sizeof(u64);
	if (type == DJS_SYMBOLS_BACKTRACE)
		trace_text(ctx, text, addresses, count);
	else if (type == DJS_SYMBOLS_LINES)
		lines_text(ctx, text, addresses, count);
	else if (!type)
		address_text(text, addresses[0]);
	else if (djs_is_symbol_place(type))
		address_text(text, djs_word_address(addresses[0]));
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

/* A number that only looks like a word is the address of nothing. */
static DJS_HANDLER_CODE char *user_symbol_of(struct djs_ctx *ctx, u64 address)
{
	if (!djs_is_user_word(address))
		return symbol_of(ctx, djs_user_word(ctx, address, 0));
	scnprintf(ctx->work + SYMBOL_AT, DJS_SYMBOL_MAX, "0x%llx", address);
	return ctx->work + SYMBOL_AT;
}

DJS_HANDLER_CODE void djs_fn_usymdata(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, user_symbol_of(ctx, address));
}

DJS_HANDLER_CODE void djs_fn_usymname(struct djs_ctx *ctx, char *out, s64 address)
{
	djs_return_text(out, only_name(user_symbol_of(ctx, address)));
}

DJS_HANDLER_CODE void djs_fn_usymfileline(struct djs_ctx *ctx, char *out, s64 address)
{
	address_text(out, address);
}

DJS_HANDLER_CODE void djs_fn_usymfile(struct djs_ctx *ctx, char *out, s64 address)
{
	address_text(out, address);
}

DJS_HANDLER_CODE void djs_fn_usymline(struct djs_ctx *ctx, char *out, s64 address)
{
	address_text(out, address);
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

/* Returns a file's address of what a process has mapped at an address. */
DJS_HANDLER_CODE s64 djs_fn_umodaddr(struct djs_ctx *ctx, s64 address)
{
	u64 bias;

	if (djs_user_image_at(djs_user_word(ctx, address, 0), &bias))
		return address - bias;
	djs_fail(ctx, "Cannot determine the file of a user-space address", DJS_NO_PLACE);
	return 0;
}

/* Returns the build-id of the file that an address is mapped from. */
DJS_HANDLER_CODE void djs_fn_umodbuildid(struct djs_ctx *ctx, char *out, s64 address)
{
	u64 bias;
	const struct djs_user_image *image =
	    djs_user_image_at(djs_user_word(ctx, address, 0), &bias);
	u32 i;

	*out = 0;
	if (!image) {
		djs_fail(ctx, "Cannot determine the file of a user-space address", DJS_NO_PLACE);
		return;
	}
	for (i = 0; i < image->build_id_bytes && 2 * i + 2 < djs_script.string_bytes; i++) {
		*out++ = hex_asc_hi(image->build_id[i]);
		*out++ = hex_asc_lo(image->build_id[i]);
	}
	*out = 0;
}
