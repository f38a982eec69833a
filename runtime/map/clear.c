// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Removing all elements. The table of buckets or slots must become zero, which would take long for
 * a large map; such a map has two tables. A clear continues with the other table, which is zero,
 * and leaves the old one to be zeroed as a debt. From then on, each element that takes an entry for
 * the first time pays a part of it. If the map is cleared again before the debt is paid, it has few
 * elements, which are freed one by one.
 */
#include "map/layout.h"

#define AT_ONCE	     (128u << 10) /* bytes of a table that are zeroed at once */
#define INSTALLMENTS 4096u
#define MIN_PART     4096u

DJS_HANDLER_CODE u64 djs_map_twin_bytes(const struct djs_map_shape *shape)
{
	u64 bytes = djs_map_table_bytes(shape);

	if (!shape->clears || bytes <= AT_ONCE)
		return 0;
	return DJS_ALIGN64(sizeof(struct djs_map) + bytes);
}

static inline void *table_of(struct djs_map *map)
{
	return map + 1;
}

DJS_HANDLER_CODE void djs_map_pay(struct djs_map *map)
{
	u64 part = DJS_ALIGN64(djs_map_table_bytes(&map->shape) / INSTALLMENTS + MIN_PART);

	if (part > map->owed)
		part = map->owed;
	map->owed -= part;
	memset((char *)table_of(map->twin) + map->owed, 0, part);
	if (!map->owed)
		map->fresh = map->shape.capacity;
}

/* Returns the twin, which owes the table of `map` from now on. */
static DJS_HANDLER_CODE struct djs_map *change_places(struct djs_map *map)
{
	struct djs_map *twin = map->twin;

	twin->owed = djs_map_table_bytes(&map->shape);
	twin->fresh = 0;
	return twin;
}

static DJS_HANDLER_CODE void free_each_place(struct djs_map *map)
{
	u32 number;

	for (number = entry_at(map, 0)->after; number; number = entry_at(map, number)->after) {
		if (has_slots(map))
			djs_slots_release(map, number);
		else
			buckets(map)[entry_at(map, number)->place >> map->front.shift] = 0;
	}
}

DJS_HANDLER_CODE struct djs_map *djs_map_clear(struct djs_map *map)
{
	u64 bytes = djs_map_table_bytes(&map->shape);

	if (unlikely(map->walks))
		djs_map_end_walks(map);
	if (map->owed || (map->count < bytes / 256 && map->count < INSTALLMENTS))
		free_each_place(map);
	else if (map->twin)
		map = change_places(map);
	else
		memset(table_of(map), 0, bytes);
	entry_at(map, 0)->after = 0;
	entry_at(map, 0)->before = 0;
	map->count = 0;
	map->used = 0;
	map->free = 0;
	return map;
}
