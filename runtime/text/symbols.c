// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The texts that are made of symbols (include/symbols.h), as the functions of the language yield
 * them: one source for the kernel and for readers.
 */
#include "include/record.h"
#include "include/symbols.h"
#include "include/words.h"
#include "text/sink.h"

#define CUT_MARK "...\n" /* the last line of a truncated backtrace */

struct symbol_text {
	u64 address;
	const char *text;
	size_t length;
	char digits[2 + DJS_DIGITS]; /* of the address, if that is all that is known */
};

static const struct djs_symbol *symbol_of_slot(const struct djs_symbol_view *view, u64 slot)
{
	const struct djs_symbol_area *area = view->area;

	if (!area || view->bytes < sizeof(*area) || slot >= area->slots ||
	    area->slots > (view->bytes - sizeof(*area)) / sizeof(struct djs_symbol) ||
	    area->text_bytes >
		view->bytes - sizeof(*area) - area->slots * sizeof(struct djs_symbol))
		return NULL;
	return (const struct djs_symbol *)(area + 1) + slot;
}

static void only_address(struct symbol_text *found, u64 address)
{
	char *end = found->digits + sizeof(found->digits);
	char *first = digits_before(end, address, 16, "0123456789abcdef");

	*--first = 'x';
	*--first = '0';
	found->address = address;
	found->text = first;
	found->length = (size_t)(end - first);
}

/* Replaces what the table has of a program's address by its symbol, if the reader knows it. */
static void find_program_text(const struct djs_symbol_view *view, u64 slot, u64 word,
			      struct symbol_text *found)
{
	const char *text =
	    view->of_program ? view->of_program(view->data, slot, word, found->text, found->length)
			     : NULL;
	const char *end = memchr(found->text, 0, found->length);

	if (text) {
		found->text = text;
		found->length = strlen(text);
	} else if (end) {
		found->length = (size_t)(end - found->text);
	}
}

/* Returns the text of a slot: its address, like one that no symbol has, while it has none. */
static void find_text(const struct djs_symbol_view *view, u64 slot, struct symbol_text *found)
{
	const struct djs_symbol *symbol = symbol_of_slot(view, slot);

	if (symbol && smp_load_acquire(&symbol->state) == DJS_SYMBOL_CLAIMED && view->refresh)
		view->refresh(view->data);
	if (!symbol) {
		only_address(found, 0);
	} else if (smp_load_acquire(&symbol->state) == DJS_SYMBOL_CLAIMED ||
		   symbol->at > view->area->text_bytes ||
		   symbol->length > view->area->text_bytes - symbol->at ||
		   symbol->length >= DJS_SYMBOL_MAX) {
		only_address(found, djs_word_address(READ_ONCE(symbol->key)));
	} else {
		found->address = djs_word_address(symbol->address);
		found->text = (const char *)((const struct djs_symbol *)(view->area + 1) +
					     view->area->slots) +
			      symbol->at;
		found->length = symbol->length;
		if (djs_is_user_word(symbol->address))
			find_program_text(view, slot, symbol->address, found);
	}
}

/* Returns the place in the source code of a slot's address as the reader knows it, or NULL. */
static const char *find_place(const struct djs_symbol_view *view, u64 slot, char type)
{
	const struct djs_symbol *symbol = symbol_of_slot(view, slot);
	const char *texts;

	if (symbol && smp_load_acquire(&symbol->state) == DJS_SYMBOL_CLAIMED && view->refresh)
		view->refresh(view->data);
	if (!symbol || !view->place_of_program ||
	    smp_load_acquire(&symbol->state) == DJS_SYMBOL_CLAIMED ||
	    symbol->at > view->area->text_bytes ||
	    symbol->length > view->area->text_bytes - symbol->at ||
	    symbol->length >= DJS_SYMBOL_MAX || !djs_is_user_word(symbol->address))
		return NULL;
	texts = (const char *)((const struct djs_symbol *)(view->area + 1) + view->area->slots);
	return view->place_of_program(view->data, slot, symbol->address, texts + symbol->at,
				      symbol->length, type);
}

/* The parts of "name+0x1/0x20 at FILE:1 [module]": where they end, the size with the place in the
 * source code. Names of programs may contain anything. */
struct parts {
	size_t name, offset, numbers, size;
};

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Returns where the number that ends at `end`, with `sign` in front of it, begins with the sign;
 * `end`: there is none. */
static size_t begin_of_number(const char *text, size_t end, char sign)
{
	size_t at = end;

	while (at && is_digit(text[at - 1]))
		at--;
	return at >= 3 && at < end && text[at - 1] == 'x' && text[at - 2] == '0' &&
		       text[at - 3] == sign
		   ? at - 3
		   : end;
}

static struct parts parts_of(const struct symbol_text *found)
{
	struct parts parts = {.size = found->length};
	size_t at;

	for (at = 0; at + 1 < found->length; at++)
		if (found->text[at] == ' ' && found->text[at + 1] == '[')
			parts.size = at;
	parts.numbers = parts.size;
	for (at = parts.size; at > 4; at--)
		if (!memcmp(found->text + at - 4, " at ", 4) &&
		    begin_of_number(found->text, at - 4, '/') != at - 4)
			parts.numbers = at - 4;
	parts.offset = begin_of_number(found->text, parts.numbers, '/');
	parts.name = begin_of_number(found->text, parts.offset, '+');
	return parts;
}

/* A line of print_backtrace(). */
static void put_line(struct sink *sink, const struct symbol_text *found)
{
	struct symbol_text address;

	only_address(&address, found->address);
	sink_char(sink, ' ');
	sink_bytes(sink, address.text, address.length);
	sink_bytes(sink, " : ", 3);
	sink_bytes(sink, found->text, found->length);
	sink_char(sink, '\n');
}

size_t djs_symbol_line(const struct djs_symbol_view *view, char *out, size_t size, u64 slot)
{
	struct symbol_text found;
	struct sink sink;

	find_text(view, slot, &found);
	sink_open(&sink, out, size);
	put_line(&sink, &found);
	return sink_close(&sink, size);
}

/* Writes at most `most` bytes. */
static void put_some(struct sink *sink, const char *text, size_t length, size_t most)
{
	sink_bytes(sink, text, length < most ? length : most);
}

/* sprint_backtrace(), whose string has `size` bytes with its terminator. */
static void put_backtrace(const struct djs_symbol_view *view, struct sink *sink, const char *slots,
			  u64 count, size_t size)
{
	size_t begin = sink->length;
	u64 i;

	for (i = 0; i < count; i++) {
		size_t done = sink->length - begin, mark;
		struct symbol_text found;
		struct parts parts;
		u64 slot;

		memcpy(&slot, slots + i * sizeof(slot), sizeof(slot));
		find_text(view, slot, &found);
		mark = i + 1 < count ? sizeof(CUT_MARK) - 1 : 0;
		parts = parts_of(&found);
		if (done + parts.offset + (found.length - parts.numbers) + 1 + mark >= size) {
			put_some(sink, CUT_MARK, sizeof(CUT_MARK) - 1, size - done - 1);
			break; /* no partial names */
		}
		sink_bytes(sink, found.text, parts.offset);
		sink_bytes(sink, found.text + parts.numbers, found.length - parts.numbers);
		sink_char(sink, '\n');
	}
}

/* sprint_syms(): as many lines as its string has room for, the first one as far as it fits. */
static void put_lines(const struct djs_symbol_view *view, struct sink *sink, const char *slots,
		      u64 count, size_t size)
{
	size_t begin = sink->length;
	u64 i;

	for (i = 0; i < count; i++) {
		size_t before = sink->length;
		struct symbol_text found;
		u64 slot;

		memcpy(&slot, slots + i * sizeof(slot), sizeof(slot));
		find_text(view, slot, &found);
		put_line(sink, &found);
		if (sink->length - begin < size)
			continue;
		sink->length = i ? before : begin + size - 1;
		break;
	}
}

static void put_symbol(const struct djs_symbol_view *view, struct sink *sink, const char *slots,
		       u64 count, size_t size, char type)
{
	struct symbol_text found;
	u64 slot;

	if (!count)
		return;
	memcpy(&slot, slots, sizeof(slot));
	find_text(view, slot, &found);
	if (djs_is_symbol_place(type)) {
		const char *place = find_place(view, slot, type);

		only_address(&found, found.address);
		if (place) {
			found.text = place;
			found.length = strlen(place);
		}
	} else if (type == DJS_SYMBOLS_NAME) {
		found.length = parts_of(&found).name;
	}
	put_some(sink, found.text, found.length, size - 1);
}

/* Writes a string in place of an argument that is made of symbols. Returns how much of `args` this
 * took; 0: it is damaged. */
static size_t expand_symbols(const struct djs_symbol_view *view, struct sink *sink, char type,
			     const char *args, size_t left)
{
	size_t begin = sink->length;
	u64 words;
	u32 length = 0;
	size_t bytes;

	if (left < sizeof(words))
		return 0;
	memcpy(&words, args, sizeof(words));
	args += sizeof(words);
	left -= sizeof(words);
	sink_bytes(sink, (const char *)&length, sizeof(length));
	if (words & DJS_SYMBOLS_ARE_TEXT) {
		words &= ~DJS_SYMBOLS_ARE_TEXT;
		if (words > left)
			return 0;
		sink_bytes(sink, args, (size_t)words);
		bytes = (size_t)DJS_ALIGN8(words);
		bytes = bytes < left ? bytes : left;
	} else {
		size_t size =
		    view->area && view->bytes >= sizeof(*view->area) && view->area->string_bytes
			? view->area->string_bytes
			: DJS_SYMBOL_MAX;

		if (words > left / sizeof(u64))
			return 0;
		if (type == DJS_SYMBOLS_BACKTRACE)
			put_backtrace(view, sink, args, words, size);
		else if (type == DJS_SYMBOLS_LINES)
			put_lines(view, sink, args, words, size);
		else
			put_symbol(view, sink, args, words, size, type);
		bytes = (size_t)words * sizeof(u64);
	}
	length = (u32)(sink->length - begin - sizeof(length));
	if (sink->length <= sink->room)
		memcpy(sink->out + begin, &length, sizeof(length));
	sink_fill(sink, 0,
		  (size_t)DJS_ALIGN8(sizeof(length) + (u64)length) - sizeof(length) - length);
	return sizeof(words) + bytes;
}

/* Returns the size of an argument that is copied; more than `left`: it is damaged. The padding of
 * the last one may be missing. */
static size_t argument_bytes(char type, const char *args, size_t left)
{
	struct djs_histogram_header header;
	size_t bytes;
	u32 length;
	u64 count;

	switch (type) {
	case 's':
		if (left < sizeof(length))
			return left + 1;
		memcpy(&length, args, sizeof(length));
		if (length > left - sizeof(length))
			return left + 1;
		bytes = (size_t)DJS_ALIGN8(sizeof(length) + (u64)length);
		return bytes < left ? bytes : left;
	case 'n':
		return DJS_NAME_BYTES;
	case 'k':
		if (left < sizeof(count))
			return left + 1;
		memcpy(&count, args, sizeof(count));
		return count > left / sizeof(u64) ? left + 1 : (size_t)(1 + count) * sizeof(u64);
	case 'h':
		if (left < sizeof(header))
			return left + 1;
		memcpy(&header, args, sizeof(header));
		return sizeof(header) + (size_t)header.buckets * sizeof(s64);
	default:
		return sizeof(s64);
	}
}

size_t djs_symbols_expand(const struct djs_symbol_view *view, char *out, size_t size,
			  const char *types, const void *args, size_t args_bytes)
{
	const char *at = args, *end = at + args_bytes;
	struct sink sink = {out, size, 0};

	for (; *types; types++) {
		size_t left = (size_t)(end - at), bytes;

		if (djs_is_symbols(*types)) {
			bytes = expand_symbols(view, &sink, *types, at, left);
			if (!bytes)
				return DJS_SYMBOLS_DAMAGED;
		} else {
			bytes = argument_bytes(*types, at, left);
			if (bytes > left)
				return DJS_SYMBOLS_DAMAGED;
			sink_bytes(&sink, at, bytes);
			if (*types ==
			    's') /* the last one of the record, but not of what is written */
				sink_fill(&sink, 0, DJS_ALIGN8(bytes) - bytes);
		}
		at += bytes;
	}
	return sink.length;
}
