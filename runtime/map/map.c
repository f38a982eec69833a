// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chained hash table in one block of memory: the header, the buckets, the entries. Links are
 * entry numbers from 1; number 0 means "none" in a chain, and entry 0 is the head of the ring of
 * all entries in insertion order. Whoever chose the keys, the length of a chain is random: the hash
 * depends on secret numbers, and there are at least as many buckets as entries. In arrays of longs
 * by one long, slots replace the buckets (slots.c).
 */
#include "map/keys.h"

#define MAX_CAPACITY (1u << 30)

static DJS_HANDLER_CODE u32 bucket_bits(u32 capacity)
{
	u32 bits = 1;

	while ((1u << bits) < capacity)
		bits++;
	return bits;
}

static u64 field_bytes(const struct djs_map_shape *shape, u8 type)
{
	switch (type) {
	case DJS_LONG:
	case DJS_STRING:
		return djs_map_key_bytes(type == DJS_STRING, shape->string_bytes);
	case DJS_STACK:
		return shape->stack_words * sizeof(u64);
	default:
		return djs_statistic_bytes(&shape->statistic);
	}
}

static int wants_slots(const struct djs_map_shape *shape)
{
	return shape->key_count == 1 && shape->key_types[0] == DJS_LONG &&
	       shape->value_type == DJS_LONG;
}

/* Returns the bytes of an entry; 0 for a shape that no map can have. */
static u64 entry_bytes(const struct djs_map_shape *shape)
{
	u64 bytes = sizeof(struct entry);
	u32 i;

	if (shape->key_count == 0 || shape->key_count > DJS_MAX_KEYS || shape->capacity == 0 ||
	    shape->capacity > MAX_CAPACITY)
		return 0;
	for (i = 0; i < shape->key_count; i++) {
		if (shape->key_types[i] != DJS_LONG && shape->key_types[i] != DJS_STRING &&
		    shape->key_types[i] != DJS_STACK)
			return 0;
		if (shape->key_types[i] == DJS_STACK && shape->stack_words == 0)
			return 0;
		if (shape->key_types[i] == DJS_STRING && shape->string_bytes == 0)
			return 0;
		bytes += field_bytes(shape, shape->key_types[i]);
	}
	if (shape->value_type == DJS_STACK ||
	    (shape->value_type == DJS_STRING && shape->string_bytes == 0))
		return 0;
	if (!wants_slots(shape))
		bytes += field_bytes(shape, shape->value_type);
	return bytes <= U32_LIMIT ? bytes : 0;
}

static DJS_HANDLER_CODE u64 bucket_area(u32 capacity)
{
	return sizeof(u32) << bucket_bits(capacity);
}

DJS_HANDLER_CODE u64 djs_map_table_bytes(const struct djs_map_shape *shape)
{
	return wants_slots(shape) ? djs_slots_bytes(shape->capacity) : bucket_area(shape->capacity);
}

/* Returns the bytes of a header and its table. */
static u64 front_bytes(const struct djs_map_shape *shape)
{
	return DJS_ALIGN64(sizeof(struct djs_map) + djs_map_table_bytes(shape));
}

u64 djs_map_bytes(const struct djs_map_shape *shape)
{
	u64 entry = entry_bytes(shape);
	u64 all;

	if (!entry || __builtin_mul_overflow(entry, (u64)shape->capacity + 1, &all) ||
	    __builtin_add_overflow(all, front_bytes(shape) + djs_map_twin_bytes(shape), &all))
		return 0;
	return all;
}

/* SplitMix64: every bit of the result depends on all bits of `seed`. */
static u64 secret(u64 seed)
{
	seed += DJS_MAP_FACTOR;
	seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ull;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebull;
	return seed ^ (seed >> 31);
}

static void init_front(struct djs_map *map, char *entries, const struct djs_map_shape *shape,
		       u64 seed)
{
	u32 offset = sizeof(struct entry);
	u32 i;

	map->shape = *shape;
	map->front.seed = secret(seed);
	map->front.factor = secret(~seed) | 1;
	map->max_key_text = shape->string_bytes - 1;
	map->front.shift = 32 - bucket_bits(shape->capacity);
	map->front.stride = (u32)entry_bytes(shape);
	map->front.entries = entries;
	map->fresh = shape->capacity;
	if (wants_slots(shape))
		djs_slots_init(map, map + 1);
	for (i = 0; i < shape->key_count; i++) {
		map->key_offsets[i] = offset;
		if (shape->key_types[i] != DJS_LONG)
			map->text_keys |= 1u << i;
		if (shape->key_types[i] == DJS_STACK)
			map->stack_keys |= 1u << i;
		offset += (u32)field_bytes(shape, shape->key_types[i]);
	}
	map->value_offset = offset;
}

struct djs_map *djs_map_init(void *memory, const struct djs_map_shape *shape, u64 seed)
{
	struct djs_map *map = memory;
	u64 bytes = front_bytes(shape);
	u64 twin_bytes = djs_map_twin_bytes(shape);
	char *entries = (char *)memory + bytes + twin_bytes;

	init_front(map, entries, shape, seed);
	if (twin_bytes) {
		map->twin = (struct djs_map *)((char *)memory + bytes);
		init_front(map->twin, entries, shape, seed);
		map->twin->twin = map;
	}
	return map;
}

void *djs_map_memory(struct djs_map *map)
{
	return map->twin && map->twin < map ? map->twin : map; /* a block begins with a header */
}

/* ---- finding ---- */

static inline u32 find(const struct djs_map *map, u32 hash, const union djs_value *keys)
{
	u32 number = buckets(map)[hash >> map->front.shift];

	while (number) {
		const struct entry *entry = entry_at(map, number);

		if (entry->place == hash && same_keys(map, entry, keys))
			break;
		number = entry->chain;
	}
	return number;
}

DJS_HANDLER_CODE void *djs_map_find(struct djs_map *map, const union djs_value *keys)
{
	u32 number;

	if (has_slots(map))
		return djs_map_find_slot(map, keys[0].number);
	number = find(map, hash_keys(map, keys), keys);
	return number ? (char *)entry_at(map, number) + map->value_offset : NULL;
}

static inline u32 long_hash(const struct djs_map *map, s64 key)
{
	return (u32)(djs_map_hash(&map->front, key) >> 32);
}

/* The only key is right behind the links, followed by the value: no offset is loaded. */
static inline void *find_long(const struct djs_map *map, u32 hash, s64 key)
{
	u32 number = buckets(map)[hash >> map->front.shift];

	while (number) {
		struct long_entry *entry = (struct long_entry *)entry_at(map, number);

		if (entry->key == key)
			return entry->value;
		number = entry->links.chain;
	}
	return NULL;
}

DJS_HANDLER_CODE void *djs_map_find_long(struct djs_map *map, s64 key)
{
	return find_long(map, long_hash(map, key), key);
}

DJS_HANDLER_CODE void *djs_map_find_slot(struct djs_map *map, s64 key)
{
	u32 number = djs_slots_find(map, key);

	return number ? djs_slots_value(map, number) : NULL;
}

/* ---- inserting and removing ---- */

/* Removes `number` from its chain or slot. */
static DJS_HANDLER_CODE void unlink_entry(struct djs_map *map, u32 number)
{
	struct entry *entry = entry_at(map, number);

	if (unlikely(map->walks))
		djs_map_tell_walks(map, number);
	if (has_slots(map)) {
		djs_slots_release(map, number);
	} else {
		u32 *link = &buckets(map)[entry->place >> map->front.shift];

		while (*link != number)
			link = &entry_at(map, *link)->chain;
		*link = entry->chain;
	}
}

DJS_HANDLER_CODE void djs_map_remove(struct djs_map *map, u32 number)
{
	unlink_entry(map, number);
	free_entry(map, number);
}

/* Takes an unused entry while the twin's debt is open, or the oldest entry. */
static __attribute__((__noinline__)) DJS_HANDLER_CODE u32 take_rarely(struct djs_map *map)
{
	u32 number;

	if (map->used < map->shape.capacity) {
		djs_map_pay(map);
		map->count++;
		return ++map->used;
	}
	if (!map->shape.wrap)
		return 0;
	djs_map_remove(map, entry_at(map, 0)->after);
	number = map->free;
	map->free = entry_at(map, number)->chain;
	map->count++;
	return number;
}

/* Returns an entry that is in no list: a free one, an unused one, or the oldest. 0: full. */
static inline u32 take_entry(struct djs_map *map)
{
	u32 number = map->free;

	if (number)
		map->free = entry_at(map, number)->chain;
	else if (likely(map->used < map->fresh))
		number = ++map->used;
	else
		return take_rarely(map);
	map->count++;
	return number;
}

/* Returns a new entry at the head of its chain; NULL: full. */
static inline struct entry *new_entry(struct djs_map *map, u32 hash)
{
	u32 number = take_entry(map);
	struct entry *entry;
	u32 *bucket;

	if (unlikely(!number))
		return NULL;
	entry = append_entry(map, number);
	bucket = &buckets(map)[hash >> map->front.shift];
	entry->place = hash;
	entry->chain = *bucket;
	*bucket = number;
	return entry;
}

static DJS_HANDLER_CODE void *empty_value(const struct djs_map *map, struct entry *entry)
{
	char *value = (char *)entry + map->value_offset;

	if (map->shape.value_type == DJS_LONG)
		*(s64 *)value = 0;
	else if (map->shape.value_type == DJS_STRING)
		value[0] = 0;
	else
		memset(value, 0, djs_statistic_bytes(&map->shape.statistic));
	return value;
}

DJS_HANDLER_CODE void *djs_map_insert(struct djs_map *map, const union djs_value *keys)
{
	struct entry *entry;
	u32 number, hash;

	if (has_slots(map))
		return djs_map_insert_slot(map, keys[0].number);
	hash = hash_keys(map, keys);
	number = find(map, hash, keys);
	if (number)
		return (char *)entry_at(map, number) + map->value_offset;
	entry = new_entry(map, hash);
	if (!entry)
		return NULL;
	store_keys(map, entry, keys);
	return empty_value(map, entry);
}

/* Separate from the search, which saves no register for this. */
static __attribute__((__noinline__)) DJS_HANDLER_CODE void *new_long(struct djs_map *map, u32 hash,
								     s64 key)
{
	struct entry *entry = new_entry(map, hash);

	if (unlikely(!entry))
		return NULL;
	((struct long_entry *)entry)->key = key;
	return empty_value(map, entry);
}

DJS_HANDLER_CODE void *djs_map_insert_long(struct djs_map *map, s64 key)
{
	u32 hash = long_hash(map, key);
	void *value = find_long(map, hash, key);

	return likely(value) ? value : new_long(map, hash, key);
}

/* Separate from the usual cases below, which thus save no register. */
static __attribute__((__noinline__)) DJS_HANDLER_CODE void *insert_elsewhere(struct djs_map *map,
									     s64 key)
{
	u32 number = djs_slots_find(map, key);

	if (number)
		return djs_slots_value(map, number);
	number = take_entry(map);
	if (unlikely(!number))
		return NULL;
	((struct long_entry *)append_entry(map, number))->key = key;
	return djs_slots_take(map, number, key);
}

/* The slot of the hash is free and no element passed over it: no other slot has the key. */
DJS_HANDLER_CODE void *djs_map_insert_slot(struct djs_map *map, s64 key)
{
	u64 home = djs_map_home(&map->front, key);
	struct djs_slot *slot = &map->front.slots[home];
	struct slot_use *use = &map->uses[home];
	u32 number = map->free;
	struct entry *entry;

	if (unlikely(!number || slot->complement || use->passed || key == -1))
		return insert_elsewhere(map, key);
	map->free = entry_at(map, number)->chain;
	map->count++;
	entry = append_entry(map, number);
	((struct long_entry *)entry)->key = key;
	entry->place = (u32)home;
	use->owner = number;
	slot->complement = ~(u64)key;
	slot->value = 0;
	return &slot->value;
}

static __attribute__((__noinline__)) DJS_HANDLER_CODE int erase_elsewhere(struct djs_map *map,
									  s64 key)
{
	u32 number = djs_slots_find(map, key);

	if (!number)
		return 0;
	djs_map_remove(map, number);
	return 1;
}

/* An element in the slot of its hash passed over no other one. */
DJS_HANDLER_CODE int djs_map_erase_slot(struct djs_map *map, s64 key)
{
	u64 home = djs_map_home(&map->front, key);
	struct djs_slot *slot = &map->front.slots[home];
	struct slot_use *use = &map->uses[home];
	u32 number = use->owner;

	if (unlikely(slot->complement != ~(u64)key || key == -1 || map->walks))
		return erase_elsewhere(map, key);
	slot->complement = 0;
	use->owner = 0;
	free_entry(map, number);
	return 1;
}

DJS_HANDLER_CODE int djs_map_erase(struct djs_map *map, const union djs_value *keys)
{
	u32 number;

	if (has_slots(map))
		return djs_map_erase_slot(map, keys[0].number);
	number = find(map, hash_keys(map, keys), keys);
	if (!number)
		return 0;
	djs_map_remove(map, number);
	return 1;
}

DJS_HANDLER_CODE int djs_map_in_slice(const struct djs_map *map, u32 number,
				      const union djs_value *keys, u32 fixed)
{
	const struct entry *entry = entry_at(map, number);
	u32 i;

	for (i = 0; i < map->shape.key_count; i++)
		if ((fixed >> i & 1) && !same_key(map, entry, i, &keys[i]))
			return 0;
	return 1;
}

DJS_HANDLER_CODE u32 djs_map_count(const struct djs_map *map)
{
	return map->count;
}

DJS_HANDLER_CODE union djs_value djs_map_key(const struct djs_map *map, u32 number, u32 index)
{
	const char *stored = (const char *)entry_at(map, number) + map->key_offsets[index];
	union djs_value key;

	if (map->shape.key_types[index] == DJS_LONG)
		key.number = *(const s64 *)stored;
	else
		key.text = stored;
	return key;
}

DJS_HANDLER_CODE void *djs_map_value(const struct djs_map *map, u32 number)
{
	if (has_slots(map))
		return djs_slots_value(map, number);
	return (char *)entry_at(map, number) + map->value_offset;
}
