/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of a map in its memory: private to the files of this folder.
 */
#ifndef DJSTAP_MAP_LAYOUT_H
#define DJSTAP_MAP_LAYOUT_H

#include "include/map.h"
#include "include/record.h"

#define U32_LIMIT      0xffffffffull
#define DJS_ALIGN64(n) (((n) + 63) & ~(u64)63)

/* The keys follow, then the value (unless it is in a slot), each aligned to 8 bytes. */
struct entry {
	u32 before; /* insertion order; entry 0 is the head of the ring */
	u32 after;
	u32 chain; /* next entry of the same bucket, or next free entry */
	u32 place; /* its hash; with slots: the slot that it has, or had */
};

struct long_entry {
	struct entry links;
	s64 key;
	char value[];
};

/* With slots: for each slot, the entry that has it, and how many elements passed over it. */
struct slot_use {
	u32 owner;
	u32 passed;
};

struct djs_map {
	/* What every operation reads is in the first cache line. */
	struct djs_map_front front;
	u32 value_offset;
	u32 text_keys;	  /* a bit for each key that is a string or a stack */
	u32 stack_keys;	  /* a bit for each key that is a stack */
	u32 max_key_text; /* capacity of a string key, excluding the terminator */
	u32 count;
	u32 used;  /* entries 1 … used have been used at least once */
	u32 free;  /* first of the chain of free entries; 0: none */
	u32 fresh; /* entries up to this one may be used without paying a debt */
	struct djs_map_walk *walks;
	u32 key_offsets[DJS_MAX_KEYS];
	struct djs_map_shape shape;
	struct slot_use *uses; /* with slots */
	/* For a map that is cleared in constant time: a second map header, with another table for
	 * the same entries, and how many bytes of that table are not zero yet. */
	struct djs_map *twin;
	u64 owed;
} __attribute__((aligned(64)));

static inline u32 *buckets(const struct djs_map *map)
{
	return (u32 *)(map + 1);
}

static inline struct entry *entry_at(const struct djs_map *map, u32 number)
{
	return (struct entry *)(map->front.entries + (u64)number * map->front.stride);
}

static inline struct entry *entry_among(char *entries, u32 stride, u32 number)
{
	return (struct entry *)(entries + (u64)number * stride);
}

/* Appends the entry to the insertion order. */
static inline struct entry *append_entry(struct djs_map *map, u32 number)
{
	char *entries = map->front.entries; /* once: the compiler cannot know that they stay */
	u32 stride = map->front.stride;
	struct entry *head = entry_among(entries, stride, 0);
	struct entry *entry = entry_among(entries, stride, number);

	entry->after = 0;
	entry->before = head->before;
	entry_among(entries, stride, head->before)->after = number;
	head->before = number;
	return entry;
}

/*
 * Removes the entry, which has left its chain or slot, from the insertion order, and frees it. Its
 * `after` still tells what followed it, until it is used again.
 */
static inline void free_entry(struct djs_map *map, u32 number)
{
	char *entries = map->front.entries;
	u32 stride = map->front.stride;
	struct entry *entry = entry_among(entries, stride, number);
	u32 before = entry->before, after = entry->after;

	entry_among(entries, stride, before)->after = after;
	entry_among(entries, stride, after)->before = before;
	entry->before = number;
	entry->chain = map->free;
	map->free = number;
	map->count--;
}

/* Returns 1 if entry `number`, which was an element, has been removed and is not used again. */
static inline int is_gone(const struct djs_map *map, u32 number)
{
	return !map->count || entry_at(map, number)->before == number;
}

/* Returns 1 if the keys that `fixed` has a bit for equal those of entry `number`. */
int djs_map_in_slice(const struct djs_map *map, u32 number, const union djs_value *keys, u32 fixed);

/* Returns the bytes of the buckets, or of the slots. */
u64 djs_map_table_bytes(const struct djs_map_shape *shape);

/* ---- clear.c ---- */

/* Returns the bytes of a twin's header and table for a map of this shape; 0: it needs none. */
u64 djs_map_twin_bytes(const struct djs_map_shape *shape);
/* Pays an installment of the twin's debt; when all is paid, entries are fresh again. */
void djs_map_pay(struct djs_map *map);

/* ---- walk.c ---- */

/* Called before an element is removed from a map with registered walks. */
void djs_map_tell_walks(struct djs_map *map, u32 number);
/* Called before all elements are removed. */
void djs_map_end_walks(struct djs_map *map);

/* ---- slots.c: the index of arrays of longs by one long ---- */

static inline int has_slots(const struct djs_map *map)
{
	return map->front.slots != NULL;
}

/* The sequence of slots that a key may have. */
struct slot_walk {
	u64 slot, hash;
	u64 turn;
};

/* A walk jumps this often, then continues slot by slot, and so reaches each slot. With two of three
 * slots in use, one element in 10^11 needs that. */
#define MAX_JUMPS 64

static inline struct slot_walk first_slot(const struct djs_map *map, s64 key)
{
	struct slot_walk walk = {djs_map_home(&map->front, key),
				 djs_map_stir(&map->front, map->front.seed, (u64)key), 0};

	return walk;
}

/* Returns 0 when the walk has visited all slots. */
static inline int next_slot(const struct djs_map *map, struct slot_walk *walk)
{
	u64 turn = ++walk->turn;

	if (turn <= MAX_JUMPS)
		walk->slot = djs_map_slot(
		    &map->front, djs_map_spread(djs_map_stir(&map->front, walk->hash, turn)));
	else
		walk->slot = walk->slot + 1 == map->front.slot_count ? 0 : walk->slot + 1;
	return turn < MAX_JUMPS + map->front.slot_count;
}

u64 djs_slots_bytes(u32 capacity);
/* `memory`: zeroed, 8-byte aligned, djs_slots_bytes(capacity) long. */
void djs_slots_init(struct djs_map *map, void *memory);
/* Returns the entry of `key`; 0: none. */
u32 djs_slots_find(const struct djs_map *map, s64 key);
/* Takes a slot for entry `number`, whose key no entry has; returns its value, which is 0. */
s64 *djs_slots_take(struct djs_map *map, u32 number, s64 key);
void djs_slots_release(struct djs_map *map, u32 number);
/* The value of a removed entry reads as 0. */
s64 *djs_slots_value(const struct djs_map *map, u32 number);

#endif
