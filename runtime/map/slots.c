// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arrays of long numbers by one long number: key and value stand in a table of slots themselves, so
 * that a look-up touches one cache line, and nothing waits for what it reads but the comparison and
 * the value. A key has its slot where its hash says, or in the next free one behind (open
 * addressing). Each slot counts the elements that went on over it; a search ends where that is 0.
 * So an element can be removed without moving another or leaving a mark. The order of insertion is
 * kept by the entries, as in map.c.
 *
 * Half as many slots more than elements: keys at equal distances, which pids and addresses are by
 * and large, then hardly ever meet, because multiples of the golden ratio lie evenly.
 */
#include "map/layout.h"

DJS_STATIC_ASSERT(sizeof(struct djs_map) == DJS_MAP_SLOTS_AT, "generated code adds this");

#define PASSED_MANY 255 /* counts no further, neither up nor down */

/* One more: complement 0 means "free" in a table, so the key -1 has a slot of its own, the last. */
DJS_HANDLER_CODE u64 djs_slots_bytes(u32 capacity)
{
	u64 slots = djs_map_slot_count(capacity) + 1;

	return slots * sizeof(struct djs_slot) + DJS_ALIGN8(slots * (sizeof(u32) + sizeof(u8)));
}

void djs_slots_init(struct djs_map *map, void *memory)
{
	u64 slots = djs_map_slot_count(map->shape.capacity);

	map->front.slots = memory;
	map->front.slot_count = slots;
	map->owners = (u32 *)(map->front.slots + slots + 1);
	map->passed = (u8 *)(map->owners + slots + 1);
}

static inline u64 next_slot(const struct djs_map *map, u64 slot)
{
	return slot + 1 == map->front.slot_count ? 0 : slot + 1;
}

/* The slot of `key`, or the table's size: it has none. Not for -1. */
static DJS_HANDLER_CODE u64 find_slot(const struct djs_map *map, s64 key)
{
	u64 slot = djs_map_home(&map->front, key);
	u64 left;

	for (left = map->front.slot_count; left; left--) {
		if (map->front.slots[slot].complement == ~(u64)key)
			return slot;
		if (!map->passed[slot])
			break;
		slot = next_slot(map, slot);
	}
	return map->front.slot_count;
}

DJS_HANDLER_CODE u32 djs_slots_find(const struct djs_map *map, s64 key)
{
	u64 slot = map->front.slot_count;

	if (key != -1) {
		slot = find_slot(map, key);
		if (slot == map->front.slot_count)
			return 0;
	}
	return map->owners[slot];
}

DJS_HANDLER_CODE s64 *djs_slots_take(struct djs_map *map, u32 number, s64 key)
{
	u64 slot = map->front.slot_count;

	if (key != -1) /* there are more slots than elements */
		for (slot = djs_map_home(&map->front, key); map->front.slots[slot].complement;
		     slot = next_slot(map, slot))
			if (map->passed[slot] != PASSED_MANY)
				map->passed[slot]++;
	map->front.slots[slot].complement = ~(u64)key;
	map->front.slots[slot].value = 0;
	map->owners[slot] = number;
	entry_at(map, number)->place = (u32)slot;
	return &map->front.slots[slot].value;
}

DJS_HANDLER_CODE void djs_slots_release(struct djs_map *map, u32 number)
{
	struct long_entry *entry = (struct long_entry *)entry_at(map, number);
	u64 its = entry->links.place;
	u64 slot;

	if (its != map->front.slot_count)
		for (slot = djs_map_home(&map->front, entry->key); slot != its;
		     slot = next_slot(map, slot))
			if (map->passed[slot] != PASSED_MANY)
				map->passed[slot]--;
	map->front.slots[its].complement = 0;
	map->owners[its] = 0;
}

DJS_HANDLER_CODE void djs_slots_clear(struct djs_map *map)
{
	u64 slots = map->front.slot_count + 1;
	u32 number;

	if (map->count >= slots / 16) {
		memset(map->front.slots, 0, djs_slots_bytes(map->shape.capacity));
		return;
	}
	for (number = entry_at(map, 0)->after; number; number = entry_at(map, number)->after)
		djs_slots_release(map, number);
}

DJS_HANDLER_CODE s64 *djs_slots_value(const struct djs_map *map, u32 number)
{
	static s64 removed;
	u32 slot = entry_at(map, number)->place;

	/* Another one may have the slot by now. */
	return map->owners[slot] == number ? &map->front.slots[slot].value : &removed;
}
