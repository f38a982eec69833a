/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of symbols, and who fills it. */
#ifndef DJSTAP_RECORD_SYMBOLS_H
#define DJSTAP_RECORD_SYMBOLS_H

#include "include/symbols.h"

struct page;

#define DJS_OF_KERNEL " [kernel]"

/* Before any handler runs: allocates the table, if the script needs it. */
int djs_symbols_init(void);
void djs_symbols_exit(void);

/*
 * Finds the slots of addresses, in any context. False: some address has none, because there is no
 * room for it, or its symbol is not known for long.
 */
bool djs_symbol_slots(const u64 *addresses, u32 count, u64 *slots);
/* Writes what is known of the word of a program's address (words.h); returns its length. NULL: the
 * script knows no programs. */
extern u32 (*djs_symbol_of_program)(char *symbol, u64 word);
/* Writes "name+0x1/0x20 [module]", or [kernel] when no module contains the address. */
void djs_symbol_of(char *symbol, unsigned long address);
/* The same if the table has it already; else claims a slot for the next time, and returns false. */
bool djs_symbol_copy(char *symbol, unsigned long address);
/* Looks up the symbols of all addresses that records mention. In a task. */
void djs_symbols_fill(void);

/* For readers. */
unsigned long djs_symbol_pages(void);
struct page *djs_symbol_page(unsigned long index);
/* As the kernel's own reader sees it. */
struct djs_symbol_view djs_symbols_here(void);

#endif
