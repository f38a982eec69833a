/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of addresses that records mention. A handler finds, or claims, a slot for an address
 * and records the slot's number; a task of the kernel looks up the symbol of each slot once, and
 * readers make the text. The table is one area of memory that readers map and crash dumps contain:
 *
 *   struct djs_symbol_area, its slots (struct djs_symbol), its texts
 *
 * An address is sought from the slot of its hash on; a slot that is claimed keeps its number and,
 * once it has one, its text, as long as the table exists. When what an address means changes,
 * because a module comes or goes, the slot is retired: it is not found any more, and the next
 * record of the same address has another slot.
 */
#ifndef DJSTAP_SYMBOLS_H
#define DJSTAP_SYMBOLS_H

#include "include/platform.h"

/* The longest text of a symbol: "name+0x1/0x20 [module]". */
#define DJS_SYMBOL_MAX 768u
/* What a text takes at least, so that a number of bytes is also a number of symbols. */
#define DJS_SYMBOL_LEAST 64u
#define DJS_NO_SYMBOL	 (~0u)

enum djs_symbol_state {
	DJS_SYMBOL_CLAIMED = 0, /* its text is still to come */
	DJS_SYMBOL_KEPT,
	/* Its text is there, but may change without notice: handlers do not use it again. */
	DJS_SYMBOL_ONCE,
};

struct djs_symbol {
	u64 key;     /* the address; 0: free; DJS_SYMBOL_RETIRED */
	u64 address; /* this and the text are valid unless the state is DJS_SYMBOL_CLAIMED */
	u32 at;	     /* offset of its text among the texts */
	u16 length;
	u16 state; /* enum djs_symbol_state, written last */
};
#define DJS_SYMBOL_RETIRED 1u

struct djs_symbol_area {
	u32 slots; /* a power of two */
	u32 text_bytes;
	u32 string_bytes; /* MAXSTRINGLEN, terminator included: a text ends where it would */
	u32 pad;
};

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the table: runtime/map/symbols.c -------------------------------------------------------- */

struct djs_symbol_table {
	struct djs_symbol_area *area;
	struct djs_symbol *symbols;
	char *texts;
	u32 mask, shift;
	u32 filled; /* bytes of the texts; changed by djs_symbol_fill() */
	s64 room;   /* bytes of the texts that are neither filled nor promised to a claimed slot */
};

/* Returns the size of the area for `count` symbols with texts of usual length. */
u64 djs_symbol_area_bytes(u32 count);
/* `area`: as large, and zero. */
void djs_symbol_table_init(struct djs_symbol_table *table, void *area, u32 count, u32 string_bytes);
/*
 * Returns the slot of an address, which it claims if there is none: then *fresh is set, and
 * somebody must fill it. DJS_NO_SYMBOL: there is no room, or its text cannot be kept. Any context.
 */
u32 djs_symbol_claim(struct djs_symbol_table *table, u64 address, bool *fresh);
/* Returns the text of a slot, or NULL if it is still to come. Any context. */
const char *djs_symbol_known(const struct djs_symbol_table *table, u32 slot, u32 *length);
/*
 * Returns the first slot from `from` on that is to be filled, or the number of slots. Of this and
 * of what follows only one call may run at a time.
 */
u32 djs_symbol_next(const struct djs_symbol_table *table, u32 from);
/* Returns whether there may be such a slot. */
bool djs_symbols_pending(const struct djs_symbol_table *table);
/* `length`: less than DJS_SYMBOL_MAX. `state`: DJS_SYMBOL_KEPT or DJS_SYMBOL_ONCE. */
void djs_symbol_fill(struct djs_symbol_table *table, u32 slot, const char *text, u32 length,
		     enum djs_symbol_state state);
/* Retires a slot, if it has been filled. */
void djs_symbol_retire(struct djs_symbol_table *table, u32 slot);

/* ---- the texts that are made of it: runtime/text/symbols.c ----------------------------------- */

/* An area that may contain anything, as its readers know it. */
struct djs_symbol_view {
	const struct djs_symbol_area *area; /* aligned to 8 bytes; NULL: there is none */
	u64 bytes;
	/* Has claimed slots filled; NULL: they remain as they are. */
	void (*refresh)(void *data);
	/* Returns the symbol of a program's address (words.h), given what the table has: a text
	 * that stands for it, a NUL and the build-id of its file. NULL: that text. */
	const char *(*of_program)(void *data, u64 slot, u64 word, const char *known, size_t length);
	/* Returns its place in the source code, as DJS_SYMBOLS_PLACE, _FILE or _SOURCELINE say. */
	const char *(*place_of_program)(void *data, u64 slot, u64 word, const char *known,
					size_t length, char type);
	void *data;
};

/* What is made of a record's argument (record.h): the letters in the types of a format. */
#define DJS_SYMBOLS_BACKTRACE  'B' /* sprint_backtrace() */
#define DJS_SYMBOLS_LINES      'L' /* sprint_syms(), sprint_stack() */
#define DJS_SYMBOLS_NAME       'N' /* symname() */
#define DJS_SYMBOLS_DATA       'D' /* symdata() */
#define DJS_SYMBOLS_PLACE      'P' /* usymfileline() */
#define DJS_SYMBOLS_FILE       'F' /* usymfile() */
#define DJS_SYMBOLS_SOURCELINE 'I' /* usymline() */
static inline bool djs_is_symbol_place(char type)
{
	return type == DJS_SYMBOLS_PLACE || type == DJS_SYMBOLS_FILE ||
	       type == DJS_SYMBOLS_SOURCELINE;
}
static inline bool djs_is_symbols(char type)
{
	return type == DJS_SYMBOLS_BACKTRACE || type == DJS_SYMBOLS_LINES ||
	       type == DJS_SYMBOLS_NAME || type == DJS_SYMBOLS_DATA || djs_is_symbol_place(type);
}
/* The first word of such an argument is the number of slots that follow; with this bit, the length
 * of a text that follows instead, and is padded to words. */
#define DJS_SYMBOLS_ARE_TEXT (1ull << 63)

/* Writes the line of print_backtrace() for a slot, and a terminator; returns its length, which is
 * less than `size`. */
size_t djs_symbol_line(const struct djs_symbol_view *view, char *out, size_t size, u64 slot);
#define DJS_SYMBOL_LINE_MAX (DJS_SYMBOL_MAX + 32)
/*
 * Copies the arguments of a record, and replaces those that are made of symbols by strings, as
 * which djs_format() takes them. Returns the number of bytes that these need; what does not fit
 * `size` is not written. DJS_SYMBOLS_DAMAGED: the arguments do not agree with `types`.
 */
size_t djs_symbols_expand(const struct djs_symbol_view *view, char *out, size_t size,
			  const char *types, const void *args, size_t args_bytes);
#define DJS_SYMBOLS_DAMAGED (~(size_t)0)

#ifdef __cplusplus
}
#endif

#endif
