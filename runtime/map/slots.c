// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arrays of longs by one long: the slots of a table hold key and value themselves, so that a
 * look-up touches one cache line, and only the comparison and the value wait for the load. A key
 * belongs in the slot of its first hash, which nearly all keys find free (see djs_map_home). A key
 * that does not is sent over the table by secret numbers: keys that were chosen to collide in their
 * first slot do not collide again. Each slot counts the elements that passed over it; a search ends
 * where the count is 0. An element can thus be removed without moving another one or leaving a
 * tombstone. The entries keep the insertion order, as in map.c.
 *
 * There are one and a half times as many slots as elements, so a key that was sent on finds a free
 * slot at the third try on average, however the others are distributed.
 */
#include "map/layout.h"

DJS_STATIC_ASSERT(sizeof(struct djs_map) == DJS_MAP_SLOTS_AT, "generated code adds this");
DJS_STATIC_ASSERT(sizeof(struct entry) == DJS_MAP_KEYS_AT, "so does it this");

/*
 * One more slot: complement 0 means "free" in the table, so the key -1 has a slot of its own, the
 * last.
 */
DJS_HANDLER_CODE u64 djs_slots_bytes(u32 capacity)
{
	u64 slots = djs_map_slot_count(capacity) + 1;

	return slots * (sizeof(struct djs_slot) + sizeof(struct slot_use));
}

void djs_slots_init(struct djs_map *map, void *memory)
{
	u64 slots = djs_map_slot_count(map->shape.capacity);

	map->front.slots = memory;
	map->front.slot_count = slots;
	map->uses = (struct slot_use *)(map->front.slots + slots + 1);
}

/* Returns the slot of `key`, or the table's size if it has none. Not for -1. */
static DJS_HANDLER_CODE u64 find_slot(const struct djs_map *map, s64 key)
{
	struct slot_walk walk = first_slot(map, key);

	while (map->front.slots[walk.slot].complement != ~(u64)key) {
		if (!map->uses[walk.slot].passed || !next_slot(map, &walk))
			return map->front.slot_count;
	}
	return walk.slot;
}

DJS_HANDLER_CODE u32 djs_slots_find(const struct djs_map *map, s64 key)
{
	u64 slot = map->front.slot_count;

	if (key != -1) {
		slot = find_slot(map, key);
		if (slot == map->front.slot_count)
			return 0;
	}
	return map->uses[slot].owner;
}

DJS_HANDLER_CODE s64 *djs_slots_take(struct djs_map *map, u32 number, s64 key)
{
	u64 slot = map->front.slot_count;

	if (key != -1) { /* there are more slots than elements */
		struct slot_walk walk = first_slot(map, key);

		while (map->front.slots[walk.slot].complement) {
			map->uses[walk.slot].passed++;
			next_slot(map, &walk);
		}
		slot = walk.slot;
	}
	map->front.slots[slot].complement = ~(u64)key;
	map->front.slots[slot].value = 0;
	map->uses[slot].owner = number;
	entry_at(map, number)->place = (u32)slot;
	return &map->front.slots[slot].value;
}

DJS_HANDLER_CODE void djs_slots_release(struct djs_map *map, u32 number)
{
	struct long_entry *entry = (struct long_entry *)entry_at(map, number);
	u64 its = entry->links.place;

	if (its != map->front.slot_count) {
		struct slot_walk walk = first_slot(map, entry->key);

		while (walk.slot != its) {
			map->uses[walk.slot].passed--;
			next_slot(map, &walk);
		}
	}
	map->front.slots[its].complement = 0;
	map->uses[its].owner = 0;
}

DJS_HANDLER_CODE s64 *djs_slots_value(const struct djs_map *map, u32 number)
{
	static s64 removed;
	u32 slot = entry_at(map, number)->place;

	/* Another entry may have the slot by now. */
	return map->uses[slot].owner == number ? &map->front.slots[slot].value : &removed;
}
