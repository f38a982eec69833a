/* SPDX-License-Identifier: GPL-2.0-or-later
 * How a map lies in its memory: shared by map.c and list.c, nobody else.
 */
#ifndef DJSTAP_MAP_LAYOUT_H
#define DJSTAP_MAP_LAYOUT_H

#include "include/map.h"
#include "include/record.h"

#define U32_LIMIT 0xffffffffull

/* The keys follow, then the value, each at a multiple of 8. */
struct entry {
	u32 chain;  /* next of the same bucket, or of the free ones */
	u32 before; /* order of insertion; entry 0 is the ring's head */
	u32 after;
	u32 hash;
};

struct long_entry {
	struct entry links;
	s64 key;
	char value[];
};

struct djs_map {
	/* What every operation reads lies in the first cache line. */
	u64 seed;
	char *entries;
	u32 shift; /* of a 32-bit hash, to a bucket */
	u32 stride;
	u32 value_offset;
	u32 count;
	u32 used; /* entries 1 … used have been in use */
	u32 free; /* first of the chain of free ones; 0: none */
	u32 key_offsets[DJS_MAX_KEYS];
	struct djs_map_shape shape;
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
	return value * 0x9e3779b97f4a7c15ull;
}

/* 1 when the keys that `fixed` has a bit for equal those of entry `number`. */
int djs_map_in_slice(const struct djs_map *map, u32 number, const union djs_value *keys, u32 fixed);

#endif
