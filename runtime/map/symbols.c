// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of symbols (include/symbols.h). Handlers claim slots with one compare-and-exchange, in
 * any context, on any CPU. A claim is counted before it is made as if its text were the longest
 * one: a claimed slot can always be filled.
 */
#include "include/symbols.h"
#ifdef __KERNEL__
#include <linux/atomic.h>
#endif

#define SLOTS_TRIED 16u
#define MULTIPLIER  0x9e3779b97f4a7c15ull

#ifdef __KERNEL__
#define ADD_RETURN(at, n) atomic64_add_return(n, (atomic64_t *)(at))
static inline u64 exchange_if(u64 *at, u64 old, u64 value)
{
	return cmpxchg(at, old, value);
}
#else
#define ADD_RETURN(at, n) __atomic_add_fetch(at, n, __ATOMIC_SEQ_CST)
static inline u64 exchange_if(u64 *at, u64 old, u64 value)
{
	__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
#endif

/* `count` symbols of usual length, the last of which is claimed when all others are filled. */
static u32 text_bytes(u32 count)
{
	return (count - 1) * DJS_SYMBOL_LEAST + DJS_SYMBOL_MAX;
}

/* Half of the slots remain free. */
static u32 slot_bits(u32 count)
{
	u32 bits = 1;

	while ((1u << bits) < 2 * (text_bytes(count) / DJS_SYMBOL_LEAST))
		bits++;
	return bits;
}

u64 djs_symbol_area_bytes(u32 count)
{
	return sizeof(struct djs_symbol_area) +
	       ((u64)sizeof(struct djs_symbol) << slot_bits(count)) + text_bytes(count);
}

void djs_symbol_table_init(struct djs_symbol_table *table, void *area, u32 count, u32 string_bytes)
{
	u32 bits = slot_bits(count);

	table->area = area;
	table->area->slots = 1u << bits;
	table->area->text_bytes = text_bytes(count);
	table->area->string_bytes = string_bytes;
	table->symbols = (struct djs_symbol *)(table->area + 1);
	table->texts = (char *)(table->symbols + table->area->slots);
	table->mask = table->area->slots - 1;
	table->shift = 64 - bits;
	table->filled = 0;
	table->room = table->area->text_bytes;
}

DJS_HANDLER_CODE u32 djs_symbol_claim(struct djs_symbol_table *table, u64 address, bool *fresh)
{
	u32 slot = (u32)(address * MULTIPLIER >> table->shift), tries;

	if (unlikely(address <= DJS_SYMBOL_RETIRED))
		return DJS_NO_SYMBOL;
	for (tries = 0; tries < SLOTS_TRIED; tries++, slot = (slot + 1) & table->mask) {
		struct djs_symbol *symbol = &table->symbols[slot];
		u64 key = READ_ONCE(symbol->key);

		if (likely(key == address))
			return unlikely(READ_ONCE(symbol->state) == DJS_SYMBOL_ONCE) ? DJS_NO_SYMBOL
										     : slot;
		if (key)
			continue;
		/* Others do the same at the same time: some of them may find too little room where
		 * there is enough for one. */
		if (ADD_RETURN(&table->room, -(s64)DJS_SYMBOL_MAX) < 0) {
			ADD_RETURN(&table->room, (s64)DJS_SYMBOL_MAX);
			return DJS_NO_SYMBOL;
		}
		key = exchange_if(&symbol->key, 0, address);
		if (!key) {
			*fresh = true;
			return slot;
		}
		ADD_RETURN(&table->room, (s64)DJS_SYMBOL_MAX);
		if (key == address)
			return slot;
	}
	return DJS_NO_SYMBOL;
}

DJS_HANDLER_CODE const char *djs_symbol_known(const struct djs_symbol_table *table, u32 slot,
					      u32 *length)
{
	const struct djs_symbol *symbol = &table->symbols[slot];

	if (smp_load_acquire(&symbol->state) == DJS_SYMBOL_CLAIMED)
		return NULL;
	*length = symbol->length;
	return table->texts + symbol->at;
}

u32 djs_symbol_next(const struct djs_symbol_table *table, u32 from)
{
	for (; from <= table->mask; from++)
		if (READ_ONCE(table->symbols[from].key) > DJS_SYMBOL_RETIRED &&
		    table->symbols[from].state == DJS_SYMBOL_CLAIMED)
			break;
	return from;
}

bool djs_symbols_pending(const struct djs_symbol_table *table)
{
	return READ_ONCE(table->room) + table->filled != table->area->text_bytes;
}

void djs_symbol_fill(struct djs_symbol_table *table, u32 slot, const char *text, u32 length,
		     enum djs_symbol_state state)
{
	struct djs_symbol *symbol = &table->symbols[slot];
	u32 bytes = (length + 7) & ~7u;

	if (bytes < DJS_SYMBOL_LEAST)
		bytes = DJS_SYMBOL_LEAST;
	symbol->address = READ_ONCE(symbol->key);
	symbol->at = table->filled;
	symbol->length = (u16)length;
	memcpy(table->texts + symbol->at, text, length);
	table->filled += bytes;
	ADD_RETURN(&table->room, (s64)(DJS_SYMBOL_MAX - bytes));
	smp_store_release(&symbol->state, (u16)state);
}

void djs_symbol_retire(struct djs_symbol_table *table, u32 slot)
{
	if (table->symbols[slot].state != DJS_SYMBOL_CLAIMED)
		WRITE_ONCE(table->symbols[slot].key, (u64)DJS_SYMBOL_RETIRED);
}
