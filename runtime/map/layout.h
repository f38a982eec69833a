/* SPDX-License-Identifier: GPL-2.0-or-later
 * How a map lies in its memory: shared by the files of this folder, nobody else.
 */
#ifndef DJSTAP_MAP_LAYOUT_H
#define DJSTAP_MAP_LAYOUT_H

#include "include/map.h"
#include "include/record.h"

#define U32_LIMIT 0xffffffffull

/* The keys follow, then the value (unless it lies in a slot), each at a multiple of 8. */
struct entry {
	u32 before; /* order of insertion; entry 0 is the ring's head */
	u32 after;
	u32 chain; /* next of the same bucket, or of the free ones */
	u32 place; /* its hash; with slots: the slot that it has, or had */
};

struct long_entry {
	struct entry links;
	s64 key;
	char value[];
};

struct djs_map {
	/* What every operation reads lies in the first cache line. */
	struct djs_map_front front;
	char *entries;
	u32 shift; /* of a 32-bit hash, to a bucket */
	u32 stride;
	u32 value_offset;
	u32 text_keys; /* a bit for each key that is a text */
	u32 text_most; /* bytes of one, without its end */
	u32 count;
	u32 used; /* entries 1 … used have been in use */
	u32 free; /* first of the chain of free ones; 0: none */
	u32 key_offsets[DJS_MAX_KEYS];
	struct djs_map_shape shape;
	/* With slots: by slot, which entry has it, and how many went on to a later one (255: as
	 * many, or more). */
	u32 *owners;
	u8 *passed;
} __attribute__((aligned(64)));

static inline u32 *buckets(const struct djs_map *map)
{
	return (u32 *)(map + 1);
}

static inline struct entry *entry_at(const struct djs_map *map, u32 number)
{
	return (struct entry *)(map->entries + (u64)number * map->stride);
}

/* Fibonacci hashing: the product's upper bits depend on all bits of `value`. */
static inline u64 mix(u64 value)
{
	return value * DJS_MAP_FACTOR;
}

/* 1 when the keys that `fixed` has a bit for equal those of entry `number`. */
int djs_map_in_slice(const struct djs_map *map, u32 number, const union djs_value *keys, u32 fixed);

/* ---- slots.c: where the elements of long numbers by one long number are ---- */

static inline int has_slots(const struct djs_map *map)
{
	return map->front.slots != NULL;
}

u64 djs_slots_bytes(u32 capacity);
/* `memory` (zeroed, 8-byte aligned): djs_slots_bytes(capacity). */
void djs_slots_init(struct djs_map *map, void *memory);
/* The entry of `key`, 0: none. */
u32 djs_slots_find(const struct djs_map *map, s64 key);
/* A slot for entry `number`, whose key no entry has; yields its value, 0. */
s64 *djs_slots_take(struct djs_map *map, u32 number, s64 key);
void djs_slots_release(struct djs_map *map, u32 number);
/* All of them. */
void djs_slots_clear(struct djs_map *map);
/* Of an entry that was removed: 0. */
s64 *djs_slots_value(const struct djs_map *map, u32 number);

#endif
