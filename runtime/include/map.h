/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Associative arrays of fixed capacity, whose memory is allocated before the first probe is armed.
 * Portable. Nothing here locks: the caller holds the array's lock. */
#ifndef DJSTAP_MAP_H
#define DJSTAP_MAP_H

#include "arch/portable.h"
#include "include/platform.h"
#include "include/statistic.h"

enum djs_type { DJS_LONG = 0, DJS_STRING, DJS_STATISTIC, DJS_STACK /* only as a key */ };

/* A value passed between functions. Strings end with NUL and are shorter than the shape's
 * string_bytes. A stack is the number of its addresses, at most the shape's stack_words - 1, then
 * these. */
union djs_value {
	s64 number;
	const char *text;
	const u64 *stack;
};

/* The slots that generated code searches to find an element of an array of longs indexed by one
 * long. `complement` is the key's bitwise complement; 0: the slot is free. A key that is not in the
 * slot of its hash may be elsewhere; the key -1 always is. */
struct djs_slot {
	u64 complement;
	s64 value;
};
/* Offset of a map's slots, or of its buckets, from its beginning. */
#define DJS_MAP_SLOTS_AT 256
/* A map of another kind has buckets: for each hash djs_map_spread(…) >> 32 of all keys, shifted by
 * djs_map_front.shift, the number (u32) of an entry; 0: none. Generated code compares the keys of
 * that one; others may follow it in a chain. The keys begin at this offset in an entry, each in
 * djs_map_key_bytes, then the value. A string is stored as the words that it has, with its end. */
#define DJS_MAP_KEYS_AT 16
static inline u64 djs_map_key_bytes(int is_text, u32 string_bytes)
{
	return is_text ? ((u64)string_bytes + 7) & ~(u64)7 : sizeof(u64);
}
/* The beginning of each map. */
struct djs_map_front {
	u64 seed;		/* secret */
	struct djs_slot *slots; /* NULL: the map is of another kind */
	u64 slot_count;
	u64 factor; /* secret, and odd */
	char *entries;
	u32 shift;  /* shifts a 32-bit hash to its bucket */
	u32 stride; /* of the entries, in bytes */
};
#define DJS_MAP_FACTOR 0x9e3779b97f4a7c15ull

/*
 * Returns both halves of a product. With an unsigned __int128, gcc would put a variable on the
 * stack.
 */
static inline u64 djs_wide_product(u64 a, u64 b, u64 *high)
{
	u64 low = a;

	DJS_MULTIPLY(low, *high, b);
	return low;
}

/*
 * Adds a word to a hash. Both halves of the product, combined, depend on every bit of it in a
 * non-linear way. Which keys collide depends on two secret numbers, so nobody can choose a set of
 * keys that collide for every value of them.
 */
static inline u64 djs_map_stir(const struct djs_map_front *front, u64 hash, u64 word)
{
	u64 high, low = djs_wide_product(hash ^ word, front->factor, &high);

	return low ^ high;
}

/* Makes the upper bits, which select the slot, depend on the lower ones, too. */
static inline u64 djs_map_spread(u64 hash)
{
	return hash * DJS_MAP_FACTOR;
}

/* The hash of a single number. */
static inline u64 djs_map_hash(const struct djs_map_front *front, s64 key)
{
	return djs_map_spread(djs_map_stir(front, front->seed, (u64)key));
}

static inline u64 djs_map_slot_count(u32 capacity)
{
	return (u64)capacity + capacity / 2 + 1;
}

/* The slot for a hash. */
static inline u64 djs_map_slot(const struct djs_map_front *front, u64 hash)
{
	u64 slot;

	djs_wide_product(hash, front->slot_count, &slot);
	return slot;
}

/* The slot in which the search for a key starts. Multiples of the golden ratio are evenly spread,
 * so keys at equal distances, as pids and addresses mostly are, hardly ever collide. */
static inline u64 djs_map_home(const struct djs_map_front *front, s64 key)
{
	return djs_map_slot(front, djs_map_spread((u64)key));
}

#ifdef __cplusplus
extern "C" {
#endif
/*
 * Returns the bytes that a map of this shape needs, as one block; 0 when that does not fit 64 bits.
 */
u64 djs_map_bytes(const struct djs_map_shape *shape);
/* Initializes an empty map in `memory` (zeroed, djs_map_bytes long, 64-byte aligned). `seed` is an
 * unpredictable number. */
struct djs_map *djs_map_init(void *memory, const struct djs_map_shape *shape, u64 seed);
/* Returns the block that the map was initialized in. */
void *djs_map_memory(struct djs_map *map);

/* Returns the element's value (s64, char[string_bytes], struct djs_statistic), or NULL. O(1). */
void *djs_map_find(struct djs_map *map, const union djs_value *keys);
/* The same for maps whose only key is a long: with values of other types, and with long values. */
void *djs_map_find_long(struct djs_map *map, s64 key);
void *djs_map_find_slot(struct djs_map *map, s64 key);
/* Like find, but creates an absent element with value 0, "" or an empty statistic. NULL when
 * full. */
void *djs_map_insert(struct djs_map *map, const union djs_value *keys);
void *djs_map_insert_long(struct djs_map *map, s64 key);
void *djs_map_insert_slot(struct djs_map *map, s64 key);
/* Removes an element; returns 1 when it existed. */
int djs_map_erase(struct djs_map *map, const union djs_value *keys);
int djs_map_erase_slot(struct djs_map *map, s64 key); /* the same for slots */
/* Removes all elements. Returns the map to use from now on, which may differ from `map`. */
struct djs_map *djs_map_clear(struct djs_map *map);
u32 djs_map_count(const struct djs_map *map);
/*
 * Returns key `index` (from 0) of element `number`; a string or stack stays valid while the element
 * exists.
 */
union djs_value djs_map_key(const struct djs_map *map, u32 number, u32 index);
void *djs_map_value(const struct djs_map *map, u32 number);

/* ---- walking over the elements, a bounded number of them at a time --------------------------- */

enum djs_stat_op {
	DJS_STAT_COUNT = 0,
	DJS_STAT_SUM,
	DJS_STAT_MIN,
	DJS_STAT_MAX,
	DJS_STAT_AVG,
	DJS_STAT_VARIANCE
};

/* A walk over the elements in the order of their insertion, over as many as existed when it began.
 * Between two steps the map may change only if the walk is registered with it; without that,
 * elements may be removed, but none may be added. Removed ones are skipped. */
struct djs_map_walk {
	struct djs_map_walk *next; /* next walk registered with the same map */
	/* set by the caller that registers the walk: a bit for each number; or NULL */
	u64 *removed;
	u32 at;	     /* the last element visited; 0: none */
	u32 left;    /* number of elements left to visit */
	u32 highest; /* size of `removed`, in numbers */
	u8 registered;
	u8 over; /* the walk has visited all elements */
	u8 gone; /* all elements that it visited were removed at once */
};
#define DJS_MAP_MORE (~0u)
/* Restarts the walk and clears `removed`. */
void djs_map_walk_begin(const struct djs_map *map, struct djs_map_walk *walk);
/* Returns the next element whose keys equal those of `keys` where `fixed` has a bit. 0: there is
 * none; DJS_MAP_MORE: none among the next `*steps` elements. Subtracts the number of elements
 * visited from `*steps`. */
u32 djs_map_next(const struct djs_map *map, struct djs_map_walk *walk, const union djs_value *keys,
		 u32 fixed, u32 *steps);
void djs_map_remove(struct djs_map *map, u32 number);
/* From here on the walk tracks removals: it is moved back when its current element is removed, and
 * the numbers of all removed elements are set in walk->removed. */
void djs_map_register(struct djs_map *map, struct djs_map_walk *walk);
void djs_map_unregister(struct djs_map *map, struct djs_map_walk *walk);

/*
 * The sort key of an element: elements are ordered by `by`, then by string, then by `turn`,
 * ascending.
 */
struct djs_rank {
	u64 by;
	u32 number;
	u32 turn;
};
/*
 * Elements in the order that a foreach visits them. All of them, or the best `most`, are collected
 * into a heap; each element is then extracted in logarithmic time, and those that are never visited
 * are never sorted. Between two steps the map may change if `walk` is registered, except for values
 * that are strings and sorted by: string keys are stable as long as their element exists. If it is
 * not, elements may be removed after the last of djs_ranking_step.
 */
struct djs_ranking {
	struct djs_map_walk walk;
	struct djs_rank *ranks;
	u32 room; /* capacity of `ranks` */
	u32 most; /* number of elements wanted: at most `room`, or DJS_MAP_MORE for all */
	u32 count;
	u32 turn;
	u32 unordered; /* elements of the heap that are not yet in heap order */
	u8 phase;
	u8 cuts; /* all are wanted, but those that exceed the room are left out */
};
enum djs_ranking_state {
	DJS_RANKING_MORE,    /* there is more to do */
	DJS_RANKING_DONE,    /* all elements are in heap order */
	DJS_RANKING_TOO_MANY /* all are wanted, and there is no room for them */
};
/* Restarts; fields that the caller sets (ranks, room, cuts, walk.removed) are unchanged. */
void djs_ranking_begin(const struct djs_map *map, struct djs_ranking *ranking, u32 most);
/* Advances by at most `steps` elements. */
enum djs_ranking_state djs_ranking_step(const struct djs_map *map, struct djs_ranking *ranking,
					const struct djs_map_order *order,
					const union djs_value *keys, u32 steps);
#define DJS_STEPS_OF_A_FIRST 16 /* when searching a large heap for the first element */
/* When done: extracts the first element that was not removed in the meantime. 0: none is left;
 * DJS_MAP_MORE: none among those visited, which `*steps` bounds. */
u32 djs_ranking_first(const struct djs_map *map, struct djs_ranking *ranking,
		      const struct djs_map_order *order, u32 *steps);
#ifdef __cplusplus
}
#endif
#endif
