/* SPDX-License-Identifier: GPL-2.0-or-later
 * Associative arrays of fixed capacity, all memory allocated before the first probe is armed.
 * Portable. Nothing here locks: the caller holds the array's lock.
 */
#ifndef DJSTAP_MAP_H
#define DJSTAP_MAP_H

#include "include/platform.h"
#include "include/statistic.h"

#define DJS_MAX_KEYS 9

enum djs_type { DJS_LONG = 0, DJS_STRING, DJS_STATISTIC };

/* A value of the language in flight. Strings end with NUL and are shorter than the shape's
 * string_bytes. */
union djs_value {
	s64 number;
	const char *text;
};

struct djs_map_shape {
	u8 key_count;
	u8 value_type; /* enum djs_type */
	u8 wrap;       /* when full: replace the oldest entry instead of failing */
	u8 pad;
	u8 key_types[DJS_MAX_KEYS];
	u8 pad2[3];
	u32 capacity;
	u32 string_bytes; /* MAXSTRINGLEN, terminator included */
	struct djs_statistic_shape statistic;
};

struct djs_map; /* map/map.c */

/* What generated code looks at to find an element of an array of longs by one long. `complement` is
 * the key's, 0: the slot is free. A key that is not in the slot of its hash may be elsewhere; -1
 * always is. */
struct djs_slot {
	u64 complement;
	s64 value;
};
/* How far behind a map's beginning its slots are. */
#define DJS_MAP_SLOTS_AT 192
/* How each map begins. */
struct djs_map_front {
	u64 seed;
	struct djs_slot *slots; /* NULL: the map is of another kind */
	u64 slot_count;
};
#define DJS_MAP_FACTOR 0x9e3779b97f4a7c15ull

static inline u64 djs_map_front_seed(u64 seed)
{
	return seed * DJS_MAP_FACTOR;
}

static inline u64 djs_map_slot_count(u32 capacity)
{
	return (u64)capacity + capacity / 2 + 1;
}

/* The slot where a key is looked for first. */
static inline u64 djs_map_home(const struct djs_map_front *front, s64 key)
{
	u64 hash = (u64)key * DJS_MAP_FACTOR + front->seed;

	return (u64)(((unsigned __int128)hash * front->slot_count) >> 64);
}

#ifdef __cplusplus
extern "C" {
#endif
/* Bytes that a map of this shape needs, as one block, 0 when that does not fit 64 bits. */
u64 djs_map_bytes(const struct djs_map_shape *shape);
/* Makes an empty map of `memory` (zeroed, djs_map_bytes long, 64-byte aligned). `seed` salts the
 * hash. */
struct djs_map *djs_map_init(void *memory, const struct djs_map_shape *shape, u64 seed);

/* The element's value (s64, char[string_bytes], struct djs_statistic), or NULL. O(1). */
void *djs_map_find(struct djs_map *map, const union djs_value *keys);
/* The same for maps whose only key is a long: with values of other types, and with long values. */
void *djs_map_find_long(struct djs_map *map, s64 key);
void *djs_map_find_slot(struct djs_map *map, s64 key);
/* As find, but an absent element is created with value 0, "" or an empty statistic. NULL when full.
 */
void *djs_map_insert(struct djs_map *map, const union djs_value *keys);
void *djs_map_insert_long(struct djs_map *map, s64 key);
void *djs_map_insert_slot(struct djs_map *map, s64 key);
/* Removes an element; 1 when it was there. */
int djs_map_erase(struct djs_map *map, const union djs_value *keys);
/* Removes the elements whose keys equal those of `keys` that `fixed` has a bit for (bit 0: the
 * first). */
void djs_map_erase_slice(struct djs_map *map, const union djs_value *keys, u32 fixed);
/* 1 when such an element exists. */
int djs_map_has_slice(struct djs_map *map, const union djs_value *keys, u32 fixed);
void djs_map_clear(struct djs_map *map);
u32 djs_map_count(const struct djs_map *map);

/* How a foreach wants its elements. */
struct djs_map_order {
	s32 key; /* -1: as inserted; 0: by value; N: by the Nth key */
	u32 ascending;
	u32 stat_op; /* by value of a statistic: enum djs_stat_op */
	u32 fixed;   /* slice: bits of fixed keys */
};
enum djs_stat_op {
	DJS_STAT_COUNT = 0,
	DJS_STAT_SUM,
	DJS_STAT_MIN,
	DJS_STAT_MAX,
	DJS_STAT_AVG,
	DJS_STAT_VARIANCE
};

/* Writes the elements' numbers, in order, into `out` (room for `capacity` numbers, twice when
 * sorting) and yields how many. Ties keep the order of insertion. `limit` < 0: all. O(n log n), no
 * recursion. */
u32 djs_map_list(struct djs_map *map, const struct djs_map_order *order,
		 const union djs_value *slice, s64 limit, u32 *out);
/* Key `index` (from 0) of element `number`; a string stays valid while the element exists. */
union djs_value djs_map_key(const struct djs_map *map, u32 number, u32 index);
void *djs_map_value(const struct djs_map *map, u32 number);
#ifdef __cplusplus
}
#endif
#endif
