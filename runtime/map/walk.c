// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over a map's elements, including maps that others change between two steps. */
#include "map/layout.h"

DJS_HANDLER_CODE void djs_map_walk_begin(const struct djs_map *map, struct djs_map_walk *walk)
{
	if (walk->removed)
		memset(walk->removed, 0, (walk->highest / 64 + 1) * sizeof(u64));
	walk->highest = 0;
	walk->at = 0;
	walk->left = map->count;
	walk->over = 0;
	walk->gone = 0;
}

DJS_HANDLER_CODE u32 djs_map_next(const struct djs_map *map, struct djs_map_walk *walk,
				  const union djs_value *keys, u32 fixed, u32 *steps)
{
	while (*steps && !walk->over) {
		u32 number = walk->left ? entry_at(map, walk->at)->after : 0;

		if (!number) {
			walk->over = 1;
			break;
		}
		walk->left--;
		walk->at = number;
		if (unlikely(is_gone(map, number)))
			continue; /* no step: whoever removed it has paid for it */
		--*steps;
		if (!fixed || djs_map_in_slice(map, number, keys, fixed))
			return number;
	}
	return walk->over ? 0 : DJS_MAP_MORE;
}

DJS_HANDLER_CODE void djs_map_register(struct djs_map *map, struct djs_map_walk *walk)
{
	walk->next = map->walks;
	walk->registered = 1;
	map->walks = walk;
}

DJS_HANDLER_CODE void djs_map_unregister(struct djs_map *map, struct djs_map_walk *walk)
{
	struct djs_map_walk **link;

	if (!walk->registered)
		return;
	for (link = &map->walks; *link != walk;)
		link = &(*link)->next;
	*link = walk->next;
	walk->registered = 0;
}

DJS_HANDLER_CODE void djs_map_tell_walks(struct djs_map *map, u32 number)
{
	struct djs_map_walk *walk;

	for (walk = map->walks; walk; walk = walk->next) {
		if (walk->at == number)
			walk->at = entry_at(map, number)->before;
		if (!walk->removed)
			continue;
		walk->removed[number / 64] |= 1ull << number % 64;
		if (walk->highest < number)
			walk->highest = number;
	}
}

DJS_HANDLER_CODE void djs_map_end_walks(struct djs_map *map)
{
	struct djs_map_walk *walk;

	for (walk = map->walks; walk; walk = walk->next) {
		walk->over = 1;
		walk->gone = 1;
		walk->registered = 0;
	}
	map->walks = NULL;
}
