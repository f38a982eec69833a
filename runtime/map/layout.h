/* SPDX-License-Identifier: GPL-2.0-or-later
 * How a map lies in its memory: shared by the files of this folder, nobody else.
 */
#ifndef DJSTAP_MAP_LAYOUT_H
#define DJSTAP_MAP_LAYOUT_H

#include "include/map.h"
#include "include/record.h"

#define U32_LIMIT      0xffffffffull
#define DJS_ALIGN64(n) (((n) + 63) & ~(u64)63)

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
	u32 used;  /* entries 1 … used have been in use */
	u32 free;  /* first of the chain of free ones; 0: none */
	u32 fresh; /* entries up to this one may be used without further ado */
	struct djs_map_walk *walks;
	u32 key_offsets[DJS_MAX_KEYS];
	struct djs_map_shape shape;
	/* With slots: by slot, which entry has it, and how often one went on over it. */
	u32 *owners, *passed;
	/* Of a map that is cleared in constant time: the same once more, with another table for the
	 * same entries, and how many bytes of that table are not zero yet. */
	struct djs_map *twin;
	u64 owed;
} __attribute__((aligned(64)));

static inline u32 *buckets(const struct djs_map *map)
{
	return (u32 *)(map + 1);
}

static inline struct entry *entry_at(const struct djs_map *map, u32 number)
{
	return (struct entry *)(map->entries + (u64)number * map->stride);
}

/* 1 when the keys that `fixed` has a bit for equal those of entry `number`. */
int djs_map_in_slice(const struct djs_map *map, u32 number, const union djs_value *keys, u32 fixed);

/* Bytes of the buckets, or of the slots. */
u64 djs_map_table_bytes(const struct djs_map_shape *shape);

/* ---- clear.c ---- */

/* A twin for a map of this shape: bytes of its header and table, 0: it needs none. */
u64 djs_map_twin_bytes(const struct djs_map_shape *shape);
/* Pays an installment of what the twin is owed; when all is paid, entries are fresh again. */
void djs_map_pay(struct djs_map *map);

/* ---- walk.c ---- */

/* An element is about to be removed from a map that walks are registered with. */
void djs_map_tell_walks(struct djs_map *map, u32 number);
/* All of them are. */
void djs_map_end_walks(struct djs_map *map);

/* ---- slots.c: where the elements of long numbers by one long number are ---- */

static inline int has_slots(const struct djs_map *map)
{
	return map->front.slots != NULL;
}

/* The slots that a key may have, one after the other. */
struct slot_walk {
	u64 slot, hash;
	u64 turn;
};

/* So often a walk jumps; then it goes on slot by slot, and comes to each. With two slots of three
 * in use, one element of 10^11 gets there. */
#define MOST_JUMPS 64

static inline struct slot_walk first_slot(const struct djs_map *map, s64 key)
{
	struct slot_walk walk = {djs_map_home(&map->front, key),
				 djs_map_stir(&map->front, map->front.seed, (u64)key), 0};

	return walk;
}

/* 0: it has been everywhere. */
static inline int next_slot(const struct djs_map *map, struct slot_walk *walk)
{
	u64 turn = ++walk->turn;

	if (turn <= MOST_JUMPS)
		walk->slot = djs_map_slot(
		    &map->front, djs_map_spread(djs_map_stir(&map->front, walk->hash, turn)));
	else
		walk->slot = walk->slot + 1 == map->front.slot_count ? 0 : walk->slot + 1;
	return turn < MOST_JUMPS + map->front.slot_count;
}

u64 djs_slots_bytes(u32 capacity);
/* `memory` (zeroed, 8-byte aligned): djs_slots_bytes(capacity). */
void djs_slots_init(struct djs_map *map, void *memory);
/* The entry of `key`, 0: none. */
u32 djs_slots_find(const struct djs_map *map, s64 key);
/* A slot for entry `number`, whose key no entry has; yields its value, 0. */
s64 *djs_slots_take(struct djs_map *map, u32 number, s64 key);
void djs_slots_release(struct djs_map *map, u32 number);
/* Of an entry that was removed: 0. */
s64 *djs_slots_value(const struct djs_map *map, u32 number);

#endif
