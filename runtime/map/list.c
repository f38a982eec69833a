// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A map's elements in the order that a foreach wants.
 */
#include "map/layout.h"
#include "include/text.h"

/* Up to this limit the best elements are kept sorted while the map is walked; above it, all are
 * sorted. */
#define SMALL_LIMIT 64

static DJS_HANDLER_CODE s64 stat_value(const struct djs_map *map, const struct djs_statistic *s,
				       u32 op)
{
	switch (op) {
	case DJS_STAT_SUM:
		return s->sum;
	case DJS_STAT_MIN:
		return s->min;
	case DJS_STAT_MAX:
		return s->max;
	case DJS_STAT_AVG:
		return djs_statistic_avg(s);
	case DJS_STAT_VARIANCE:
		return djs_statistic_variance(&map->shape.statistic, s);
	default:
		return s->count;
	}
}

/* What `number` is sorted by. */
static DJS_HANDLER_CODE union djs_value sort_value(const struct djs_map *map,
						   const struct djs_map_order *order, u32 number)
{
	union djs_value by;
	void *value;

	if (order->key > 0)
		return djs_map_key(map, number, (u32)order->key - 1);
	value = djs_map_value(map, number);
	if (map->shape.value_type == DJS_STRING)
		by.text = value;
	else if (map->shape.value_type == DJS_STATISTIC)
		by.number = stat_value(map, value, order->stat_op);
	else
		by.number = *(s64 *)value;
	return by;
}

static DJS_HANDLER_CODE int sorts_text(const struct djs_map *map, const struct djs_map_order *order)
{
	u8 type = order->key > 0 ? map->shape.key_types[order->key - 1] : map->shape.value_type;

	return type == DJS_STRING;
}

/* 1 when `a` must stand before `b` wherever they lie; 0 for equal ones, so that these keep their
 * order. */
static DJS_HANDLER_CODE int goes_before(const struct djs_map *map,
					const struct djs_map_order *order, u32 a, u32 b)
{
	union djs_value left = sort_value(map, order, a);
	union djs_value right = sort_value(map, order, b);

	if (sorts_text(map, order)) {
		int compared = djs_text_compare(left.text, right.text);

		return order->ascending ? compared < 0 : compared > 0;
	}
	return order->ascending ? left.number < right.number : left.number > right.number;
}

/* Merges the sorted runs from[begin, middle) and from[middle, end) to the same place of `to`. */
static DJS_HANDLER_CODE void merge_runs(const struct djs_map *map,
					const struct djs_map_order *order, const u32 *from, u32 *to,
					const u64 bounds[3])
{
	u64 left = bounds[0];
	u64 right = bounds[1];
	u64 at;

	for (at = bounds[0]; at < bounds[2]; at++) {
		if (left < bounds[1] &&
		    (right >= bounds[2] || !goes_before(map, order, from[right], from[left])))
			to[at] = from[left++];
		else
			to[at] = from[right++];
	}
}

static DJS_HANDLER_CODE u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Bottom-up merge sort of `numbers`, with as much room behind it at `spare`. */
static DJS_HANDLER_CODE void sort(const struct djs_map *map, const struct djs_map_order *order,
				  u32 *numbers, u32 *spare, u32 count)
{
	u32 *from = numbers;
	u32 *to = spare;
	u64 run;

	for (run = 1; run < count; run *= 2) {
		u32 *swap = from;
		u64 begin;

		for (begin = 0; begin < count; begin += 2 * run) {
			u64 bounds[3] = {begin, smaller(begin + run, count),
					 smaller(begin + 2 * run, count)};

			merge_runs(map, order, from, to, bounds);
		}
		from = to;
		to = swap;
	}
	if (from != numbers)
		memcpy(numbers, from, (size_t)count * sizeof(*numbers));
}

/* Puts `number` in its place among the `count` best so far, of at most `limit`. Yields how many
 * there are now. */
static DJS_HANDLER_CODE u32 keep_best(const struct djs_map *map, const struct djs_map_order *order,
				      u32 *best, u32 count, u32 limit, u32 number)
{
	u32 at = count;

	if (count == limit) {
		if (!goes_before(map, order, number, best[count - 1]))
			return count;
		at = count - 1;
	}
	while (at > 0 && goes_before(map, order, number, best[at - 1])) {
		best[at] = best[at - 1];
		at--;
	}
	best[at] = number;
	return count < limit ? count + 1 : count;
}

DJS_HANDLER_CODE u32 djs_map_list(struct djs_map *map, const struct djs_map_order *order,
				  const union djs_value *slice, s64 limit, u32 *out)
{
	int sorted = order->key >= 0 && order->key <= map->shape.key_count;
	int small = sorted && limit >= 0 && limit <= SMALL_LIMIT;
	u32 count = 0;
	u32 number;

	if (limit == 0)
		return 0;
	for (number = entry_at(map, 0)->after; number; number = entry_at(map, number)->after) {
		if (order->fixed && !djs_map_in_slice(map, number, slice, order->fixed))
			continue;
		if (small) {
			count = keep_best(map, order, out, count, (u32)limit, number);
			continue;
		}
		out[count++] = number;
		if (!sorted && limit > 0 && count == limit)
			break;
	}
	if (sorted && !small)
		sort(map, order, out, out + map->shape.capacity, count);
	return limit >= 0 && count > limit ? (u32)limit : count;
}
