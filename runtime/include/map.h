/* SPDX-License-Identifier: GPL-2.0-or-later
 * Associative arrays of fixed capacity, all memory allocated before the first probe is armed.
 * Portable. Nothing here locks: the caller holds the array's lock.
 */
#ifndef DJSTAP_MAP_H
#define DJSTAP_MAP_H

#include "arch/portable.h"
#include "include/platform.h"
#include "include/statistic.h"

enum djs_type { DJS_LONG = 0, DJS_STRING, DJS_STATISTIC };

/* A value of the language in flight. Strings end with NUL and are shorter than the shape's
 * string_bytes. */
union djs_value {
	s64 number;
	const char *text;
};

/* What generated code looks at to find an element of an array of longs by one long. `complement` is
 * the key's, 0: the slot is free. A key that is not in the slot of its hash may be elsewhere; -1
 * always is. */
struct djs_slot {
	u64 complement;
	s64 value;
};
/* How far behind a map's beginning its slots are. */
#define DJS_MAP_SLOTS_AT 256
/* How each map begins. */
struct djs_map_front {
	u64 seed;		/* secret */
	struct djs_slot *slots; /* NULL: the map is of another kind */
	u64 slot_count;
	u64 factor; /* secret, and odd */
};
#define DJS_MAP_FACTOR 0x9e3779b97f4a7c15ull

/* Both halves of a product. Of an unsigned __int128 gcc would make a variable on the stack. */
static inline u64 djs_wide_product(u64 a, u64 b, u64 *high)
{
	u64 low = a;

	DJS_MULTIPLY(low, *high, b);
	return low;
}

/*
 * Takes one more word into a hash: both halves of the product, one over the other, depend on every
 * bit of it, by a rule that is not linear. Which keys meet is up to two secret numbers; no set of
 * keys can be chosen that meets for all of them.
 */
static inline u64 djs_map_stir(const struct djs_map_front *front, u64 hash, u64 word)
{
	u64 high, low = djs_wide_product(hash ^ word, front->factor, &high);

	return low ^ high;
}

/* Has the upper bits, which tell the place, depend on the lower ones, too. */
static inline u64 djs_map_spread(u64 hash)
{
	return hash * DJS_MAP_FACTOR;
}

/* Of a single number. */
static inline u64 djs_map_hash(const struct djs_map_front *front, s64 key)
{
	return djs_map_spread(djs_map_stir(front, front->seed, (u64)key));
}

static inline u64 djs_map_slot_count(u32 capacity)
{
	return (u64)capacity + capacity / 2 + 1;
}

/* The slot of a hash. */
static inline u64 djs_map_slot(const struct djs_map_front *front, u64 hash)
{
	u64 slot;

	djs_wide_product(hash, front->slot_count, &slot);
	return slot;
}

/* The slot where a key is looked for first. Multiples of the golden ratio lie evenly: keys at equal
 * distances, which pids and addresses are by and large, hardly ever meet there. */
static inline u64 djs_map_home(const struct djs_map_front *front, s64 key)
{
	return djs_map_slot(front, djs_map_spread((u64)key));
}

#ifdef __cplusplus
extern "C" {
#endif
/* Bytes that a map of this shape needs, as one block, 0 when that does not fit 64 bits. */
u64 djs_map_bytes(const struct djs_map_shape *shape);
/* Makes an empty map of `memory` (zeroed, djs_map_bytes long, 64-byte aligned). `seed`: a
 * number that nobody can know. */
struct djs_map *djs_map_init(void *memory, const struct djs_map_shape *shape, u64 seed);
/* The block that it was made of. */
void *djs_map_memory(struct djs_map *map);

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
/* Removes all elements. Yields the map from now on: in place of `map` where that is not the same.
 */
struct djs_map *djs_map_clear(struct djs_map *map);
u32 djs_map_count(const struct djs_map *map);
/* Key `index` (from 0) of element `number`; a string stays valid while the element exists. */
union djs_value djs_map_key(const struct djs_map *map, u32 number, u32 index);
void *djs_map_value(const struct djs_map *map, u32 number);

/* ---- walking over the elements, a bounded number of them at a time ----------------------------
 */

enum djs_stat_op {
	DJS_STAT_COUNT = 0,
	DJS_STAT_SUM,
	DJS_STAT_MIN,
	DJS_STAT_MAX,
	DJS_STAT_AVG,
	DJS_STAT_VARIANCE
};

/* A way along the elements in the order of their insertion: over as many as there were at its
 * beginning. Between two steps the map may change if the walk is registered with it. */
struct djs_map_walk {
	struct djs_map_walk *next; /* of those registered with the same map */
	u64 *removed;		   /* set by who registers it: a bit for each number; or NULL */
	u32 at;			   /* the element that was reached last; 0: none */
	u32 left;		   /* to look at */
	u32 highest;		   /* number of those in `removed` */
	u8 registered;
	u8 over; /* it has seen all of them */
	u8 gone; /* all that it has seen were removed at once */
};
#define DJS_MAP_MORE (~0u)
/* Begins anew, and empties `removed`. */
void djs_map_walk_begin(const struct djs_map *map, struct djs_map_walk *walk);
/* The next element of which the keys that `fixed` has a bit for equal those of `keys`. 0: there is
 * none; DJS_MAP_MORE: none among the next `*steps` elements. Takes from `*steps` how many were
 * looked at. */
u32 djs_map_next(const struct djs_map *map, struct djs_map_walk *walk, const union djs_value *keys,
		 u32 fixed, u32 *steps);
void djs_map_remove(struct djs_map *map, u32 number);
/* From here on the walk follows when elements are removed: it is set back where its own is, and the
 * numbers of all that go are set in walk->removed. */
void djs_map_register(struct djs_map *map, struct djs_map_walk *walk);
void djs_map_unregister(struct djs_map *map, struct djs_map_walk *walk);

/* An element and where it stands: less by `by`, then by text, then by `turn` comes first. */
struct djs_rank {
	u64 by;
	u32 number;
	u32 turn;
};
/*
 * Elements in the order that a foreach wants. They are gathered, all or the best `most` of them,
 * into a heap; then the first ones are had at a logarithmic price each, and nobody pays for the
 * rest. Between two steps the map may change when `walk` is registered, but for texts that it is
 * sorted by: keys that are texts stay what they are as long as their element is there.
 */
struct djs_ranking {
	struct djs_map_walk walk;
	struct djs_rank *ranks;
	u32 room; /* for so many ranks */
	u32 most; /* so many are wanted: no more than `room`, or DJS_MAP_MORE for all */
	u32 count;
	u32 turn;
	u32 unordered; /* of the heap: those that do not yet stand above what is below them */
	u8 phase;
	u8 cuts; /* all are wanted, but where there is no room for more the rest is left out */
};
enum djs_ranking_state {
	DJS_RANKING_MORE,    /* there is more to do */
	DJS_RANKING_DONE,    /* all stand in their order */
	DJS_RANKING_TOO_MANY /* all are wanted, and there is no room */
};
/* Begins anew; what others set (ranks, room, cuts, walk.removed) stays. */
void djs_ranking_begin(const struct djs_map *map, struct djs_ranking *ranking, u32 most);
/* Goes on by at most `steps` elements. */
enum djs_ranking_state djs_ranking_step(const struct djs_map *map, struct djs_ranking *ranking,
					const struct djs_map_order *order,
					const union djs_value *keys, u32 steps);
/* When done: takes out the first one that was not removed meanwhile. 0: none is left; DJS_MAP_MORE:
 * none among those that were looked at, which `*steps` bounds. */
u32 djs_ranking_first(const struct djs_map *map, struct djs_ranking *ranking,
		      const struct djs_map_order *order, u32 *steps);
#ifdef __cplusplus
}
#endif
#endif
