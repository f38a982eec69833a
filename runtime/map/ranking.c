// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A map's elements in the order that a foreach visits them: a heap of element numbers and their
 * sort keys. If only the best few of many are wanted, the heap holds these, the worst of them on
 * top, until all elements have been seen.
 *
 * An element that is removed while its number is in the heap ranks above all others. It is
 * therefore extracted next and dropped; whatever its entry holds by then, the others keep their
 * relative order.
 */
#include "map/keys.h"
#include "include/text.h"

enum { GATHERS, TURNS_AROUND, SELECTS, ORDERS, IS_DONE };

DJS_HANDLER_CODE void djs_ranking_begin(const struct djs_map *map, struct djs_ranking *ranking,
					u32 most)
{
	djs_map_walk_begin(map, &ranking->walk);
	ranking->most = most;
	ranking->count = 0;
	ranking->turn = 0;
	ranking->unordered = 0;
	ranking->phase = GATHERS;
}

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

static inline int sorts_text(const struct djs_map *map, const struct djs_map_order *order)
{
	u8 type = order->key > 0 ? map->shape.key_types[order->key - 1] : map->shape.value_type;

	return type == DJS_STRING;
}

static inline const char *text_of(const struct djs_map *map, const struct djs_map_order *order,
				  u32 number)
{
	return order->key > 0 ? djs_map_key(map, number, (u32)order->key - 1).text
			      : djs_map_value(map, number);
}

static DJS_HANDLER_CODE s64 number_of(const struct djs_map *map, const struct djs_map_order *order,
				      u32 number)
{
	void *value;

	if (order->key > 0)
		return djs_map_key(map, number, (u32)order->key - 1).number;
	value = djs_map_value(map, number);
	if (map->shape.value_type == DJS_STATISTIC)
		return stat_value(map, value, order->stat_op);
	return *(s64 *)value;
}

/* Returns the sort key, smaller first: the whole number, or the first eight bytes of a string. */
static DJS_HANDLER_CODE u64 rank_by(const struct djs_map *map, const struct djs_map_order *order,
				    u32 number)
{
	u64 by;

	if (sorts_text(map, order)) {
		text_word(text_of(map, order, number), map->max_key_text, &by);
		by = __builtin_bswap64(by);
	} else {
		by = (u64)number_of(map, order, number) ^ 1ull << 63;
	}
	return order->ascending ? by : ~by;
}

/* Of a walk that is registered. */
static inline int is_removed(const struct djs_ranking *ranking, u32 number)
{
	const u64 *removed = ranking->walk.removed;

	return removed && (removed[number / 64] >> number % 64 & 1);
}

/* Returns 1 if `a` precedes `b` in the order of the foreach. */
static DJS_HANDLER_CODE int comes_before(const struct djs_map *map,
					 const struct djs_map_order *order,
					 const struct djs_rank *a, const struct djs_rank *b)
{
	if (a->by != b->by)
		return a->by < b->by;
	if (sorts_text(map, order)) {
		int compared = djs_text_compare(text_of(map, order, a->number),
						text_of(map, order, b->number));

		if (compared)
			return order->ascending ? compared < 0 : compared > 0;
	}
	return a->turn < b->turn;
}

/* Returns 1 if `a` must be above `b` in the heap. */
static inline int stands_above(const struct djs_map *map, const struct djs_ranking *ranking,
			       const struct djs_map_order *order, const struct djs_rank *a,
			       const struct djs_rank *b)
{
	if (unlikely(ranking->walk.removed)) {
		if (is_removed(ranking, a->number))
			return 1;
		if (is_removed(ranking, b->number))
			return 0;
	}
	return ranking->phase < ORDERS ? comes_before(map, order, b, a)
				       : comes_before(map, order, a, b);
}

/* Moves `rank` down from `at` to its place; both subtrees are in heap order. */
static DJS_HANDLER_CODE void sink(const struct djs_map *map, struct djs_ranking *ranking,
				  const struct djs_map_order *order, u32 at, struct djs_rank rank)
{
	struct djs_rank *ranks = ranking->ranks;
	u64 below;

	for (;; at = (u32)below) {
		below = 2 * (u64)at + 1;
		if (below >= ranking->count)
			break;
		if (below + 1 < ranking->count &&
		    stands_above(map, ranking, order, &ranks[below + 1], &ranks[below]))
			below++;
		if (!stands_above(map, ranking, order, &ranks[below], &rank))
			break;
		ranks[at] = ranks[below];
	}
	ranks[at] = rank;
}

/* ---- selecting by numbers ----
 *
 * The same as above where the best are selected by numbers and nobody removes elements meanwhile:
 * this may have to keep interrupts off for half a million elements, each better than all before it.
 */

/* Without a branch that would mostly be predicted wrong. */
static inline u64 number_before(const struct djs_rank *a, const struct djs_rank *b)
{
	return (u64)(a->by < b->by) | ((u64)(a->by == b->by) & (u64)(a->turn < b->turn));
}

/*
 * Puts `rank` in the place of the worst one, on top. The hole there is moved down to the bottom
 * first, by one comparison for each level, then up to where `rank` belongs.
 */
static DJS_HANDLER_CODE void replace_worst(struct djs_ranking *ranking, struct djs_rank rank)
{
	struct djs_rank *ranks = ranking->ranks;
	u64 at = 0, below, count = ranking->count;

	while ((below = 2 * at + 2) < count) {
		below -= number_before(&ranks[below], &ranks[below - 1]);
		ranks[at] = ranks[below];
		at = below;
	}
	if (--below < count) {
		ranks[at] = ranks[below];
		at = below;
	}
	for (; at; at = below) {
		below = (at - 1) / 2;
		if (number_before(&rank, &ranks[below]))
			break;
		ranks[at] = ranks[below];
	}
	ranks[at] = rank;
}

static inline int selects_numbers(const struct djs_map *map, const struct djs_ranking *ranking,
				  const struct djs_map_order *order)
{
	return ranking->phase == SELECTS && !ranking->walk.removed && !sorts_text(map, order);
}

/* Returns what djs_map_next does, when it returns no further element. */
static DJS_HANDLER_CODE u32 select_numbers(const struct djs_map *map, struct djs_ranking *ranking,
					   const struct djs_map_order *order,
					   const union djs_value *keys, u32 *steps)
{
	u64 sign = 1ull << 63, flips = order->ascending ? sign : ~sign;
	const struct djs_rank *worst = &ranking->ranks[0];

	for (;;) {
		u32 number = djs_map_next(map, &ranking->walk, keys, order->fixed, steps);
		struct djs_rank rank;

		if (!number || number == DJS_MAP_MORE)
			return number;
		rank.by = (u64)number_of(map, order, number) ^ flips;
		rank.number = number;
		rank.turn = ranking->turn++;
		if (number_before(&rank, worst))
			replace_worst(ranking, rank);
	}
}

/* ---- all elements ---- */

/* Adds element `number`. */
static DJS_HANDLER_CODE enum djs_ranking_state take(const struct djs_map *map,
						    struct djs_ranking *ranking,
						    const struct djs_map_order *order, u32 number)
{
	struct djs_rank rank;

	/* the number was reused by an element that was added later */
	if (is_removed(ranking, number))
		return DJS_RANKING_MORE;
	rank.by = rank_by(map, order, number);
	rank.number = number;
	rank.turn = ranking->turn++;
	if (ranking->phase == SELECTS) {
		const struct djs_rank *worst = &ranking->ranks[0];

		if (is_removed(ranking, worst->number) || comes_before(map, order, &rank, worst))
			sink(map, ranking, order, 0, rank);
		return DJS_RANKING_MORE;
	}
	if (ranking->count == ranking->room) {
		ranking->walk.over = ranking->cuts;
		return ranking->cuts ? DJS_RANKING_MORE : DJS_RANKING_TOO_MANY;
	}
	ranking->ranks[ranking->count++] = rank;
	if (ranking->count == ranking->most) {
		ranking->phase = TURNS_AROUND;
		ranking->unordered = ranking->count / 2;
	}
	return DJS_RANKING_MORE;
}

static DJS_HANDLER_CODE void sink_unordered(const struct djs_map *map, struct djs_ranking *ranking,
					    const struct djs_map_order *order, u32 *steps)
{
	while (ranking->unordered && *steps) {
		u32 at = --ranking->unordered;

		--*steps;
		sink(map, ranking, order, at, ranking->ranks[at]);
	}
}

DJS_HANDLER_CODE enum djs_ranking_state djs_ranking_step(const struct djs_map *map,
							 struct djs_ranking *ranking,
							 const struct djs_map_order *order,
							 const union djs_value *keys, u32 steps)
{
	while (steps) {
		u32 number;

		if (ranking->unordered) {
			sink_unordered(map, ranking, order, &steps);
			continue;
		}
		if (ranking->phase == TURNS_AROUND)
			ranking->phase = SELECTS;
		if (ranking->phase == ORDERS)
			ranking->phase = IS_DONE;
		if (ranking->phase == IS_DONE)
			return DJS_RANKING_DONE;
		number = selects_numbers(map, ranking, order)
			     ? select_numbers(map, ranking, order, keys, &steps)
			     : djs_map_next(map, &ranking->walk, keys, order->fixed, &steps);
		if (number == DJS_MAP_MORE)
			break;
		if (number == 0) {
			ranking->phase = ORDERS;
			ranking->unordered = ranking->count / 2;
		} else if (take(map, ranking, order, number) == DJS_RANKING_TOO_MANY) {
			return DJS_RANKING_TOO_MANY;
		}
	}
	return DJS_RANKING_MORE;
}

DJS_HANDLER_CODE u32 djs_ranking_first(const struct djs_map *map, struct djs_ranking *ranking,
				       const struct djs_map_order *order, u32 *steps)
{
	while (*steps && ranking->count && !ranking->walk.gone) {
		u32 number = ranking->ranks[0].number;

		*steps -= *steps < DJS_STEPS_OF_A_FIRST ? *steps : DJS_STEPS_OF_A_FIRST;
		if (--ranking->count)
			sink(map, ranking, order, 0, ranking->ranks[ranking->count]);
		if (ranking->walk.removed ? !is_removed(ranking, number) : !is_gone(map, number))
			return number;
	}
	return ranking->count && !ranking->walk.gone ? DJS_MAP_MORE : 0;
}
