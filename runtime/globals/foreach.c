// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * foreach over arrays, and deleting or searching a slice of one: operations that take long on large
 * arrays.
 *
 * A handler that keeps its locks runs them at once, up to a number of elements; more is an error.
 * One that may pause runs them in pieces. While a handler in a task pauses, others change the
 * array. Therefore its walk is registered with the map: an element that is removed before its turn
 * is skipped, one that is added after the beginning may be missed, and an element is ordered by the
 * value that it had when the walk reached it. An array that is small enough to be sorted at once is
 * visited without a pause.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "access/access.h"
#include "globals/globals.h"

/* Between two pauses; a handler of another kind may run as many statements in all. */
#define ELEMENTS_UNTIL_REST 1024
#define ACTIONS_UNTIL_REST  1000
#define WEIGHT_UNTIL_REST   65536 /* of the elements that are sorted */

/* The state of a foreach statement. The second element of each array is for handlers in a task:
 * only one of them runs at a time, but while it pauses other handlers may reach the same
 * statement, in a function. */
struct djs_iterator {
	const struct djs_map_use *array;
	const struct djs_map_order *order;
	struct djs_ranking rankings[2];
	u32 rooms[2];
	u32 serials[2];
};

/* ---- memory ---- */

static int ranking_init(struct djs_iterator *iterator, u32 which, u32 room)
{
	struct djs_ranking *ranking = &iterator->rankings[which];
	u64 words = iterator->array->shape.capacity / 64 + 1;

	iterator->rooms[which] = room;
	if (!room)
		return 0;
	ranking->ranks = djs_allocate((u64)room * sizeof(struct djs_rank));
	if (!ranking->ranks)
		return -ENOMEM;
	if (!which)
		return 0;
	ranking->walk.removed = djs_allocate(words * sizeof(u64));
	return ranking->walk.removed ? 0 : -ENOMEM;
}

int djs_iterators_init(void)
{
	u32 i;

	for (i = 0; i < djs_script.iterator_count; i++) {
		const struct djs_iterator_use *use = &djs_script.iterators[i];
		struct djs_iterator *iterator = kcalloc(1, sizeof(*iterator), GFP_KERNEL);

		*use->iterator = iterator;
		if (!iterator)
			return -ENOMEM;
		iterator->array = &djs_script.maps[use->map];
		iterator->order = use->order;
		if (ranking_init(iterator, 0, use->room) ||
		    ranking_init(iterator, 1, use->task_room)) {
			djs_error("no memory to sort an array of %u elements",
				  iterator->array->shape.capacity);
			return -ENOMEM;
		}
	}
	return 0;
}

void djs_iterators_exit(void)
{
	u32 i, which;

	for (i = 0; i < djs_script.iterator_count; i++) {
		struct djs_iterator *iterator = *djs_script.iterators[i].iterator;

		if (!iterator)
			continue;
		for (which = 0; which < 2; which++) {
			vfree(iterator->rankings[which].ranks);
			vfree(iterator->rankings[which].walk.removed);
		}
		kfree(iterator);
		*djs_script.iterators[i].iterator = NULL;
	}
}

DJS_HANDLER_CODE void djs_end_walks(void)
{
	u32 i;

	for (i = 0; i < djs_script.iterator_count; i++) {
		struct djs_iterator *iterator = *djs_script.iterators[i].iterator;

		djs_map_unregister(*iterator->array->map, &iterator->rankings[1].walk);
	}
}

/* ---- how many elements at once ---- */

static DJS_HANDLER_CODE bool any_text(const struct djs_map_shape *shape, u32 keys)
{
	u32 i;

	for (i = 0; i < shape->key_count; i++)
		if ((keys >> i & 1) && shape->key_types[i] != DJS_LONG)
			return true;
	return false;
}

static DJS_HANDLER_CODE bool sorts_texts(const struct djs_map_shape *shape,
					 const struct djs_map_order *order)
{
	return order->key > 0 ? any_text(shape, 1u << (order->key - 1))
			      : shape->value_type == DJS_STRING;
}

static DJS_HANDLER_CODE u32 sorted_at_once(const struct djs_map_shape *shape,
					   const struct djs_map_order *order)
{
	return sorts_texts(shape, order) ? DJS_TEXTS_SORTED_AT_ONCE : DJS_SORTED_AT_ONCE;
}

/* What the comparison of two strings or stacks counts as, if they begin alike. */
#define WORDS_AN_ELEMENT 16u
static DJS_HANDLER_CODE u32 compared(u32 words)
{
	return 1 + (words - 1) / WORDS_AN_ELEMENT;
}

static DJS_HANDLER_CODE u32 text_compared(const struct djs_map_shape *shape)
{
	return compared((shape->string_bytes + 7) / 8);
}

/* What an element counts as that is looked at, and compared with the keys `fixed`. */
static DJS_HANDLER_CODE u32 weight_of_look(const struct djs_map_shape *shape, u32 fixed)
{
	u32 weight = 1, i;

	for (i = 0; i < shape->key_count; i++) {
		if (!(fixed >> i & 1) || shape->key_types[i] == DJS_LONG)
			continue;
		weight += shape->key_types[i] == DJS_STACK ? compared(shape->stack_words)
							   : text_compared(shape);
	}
	return weight;
}

/* `fixed`: the keys by which elements are selected. */
static DJS_HANDLER_CODE void set_pace(const struct djs_ctx *ctx, struct djs_pace *pace,
				      const struct djs_map_use *array, u32 fixed)
{
	u32 at_once = !fixed			       ? DJS_WALKED_AT_ONCE
		      : any_text(&array->shape, fixed) ? DJS_TEXTS_SLICED_AT_ONCE
						       : DJS_SLICED_AT_ONCE;

	pace->walked = 0;
	pace->texts = 0;
	pace->weight = weight_of_look(&array->shape, fixed);
	pace->at_once = min(at_once, DJS_WALKED_AT_ONCE / pace->weight);
	pace->rests =
	    ctx->rests != DJS_RESTS_NEVER && djs_map_count(*array->map) > DJS_SORTED_AT_ONCE;
}

static DJS_HANDLER_CODE void fail_walk(struct djs_ctx *ctx, const struct djs_pace *pace,
				       u32 at_once, u32 place)
{
	if (pace->texts)
		djs_fail_text(ctx, place,
			      "cannot sort more than %u elements by strings of %u bytes with "
			      "interrupts disabled: use a smaller limit, shorter strings "
			      "(MAXSTRINGLEN), a timer or an end probe",
			      at_once, pace->texts - 1);
	else
		djs_fail_text(ctx, place,
			      "cannot iterate over more than %u elements with interrupts disabled: "
			      "use a timer or an end probe",
			      at_once);
}

/*
 * Adds elements to what this run of the handler has visited. False, with an error: stop.
 */
static DJS_HANDLER_CODE bool charge(struct djs_ctx *ctx, const struct djs_pace *pace, u32 elements,
				    u32 place)
{
	u64 walked = ctx->walked + (u64)elements * pace->weight;

	if (ctx->rests != DJS_RESTS_NEVER)
		return true;
	ctx->walked = (u32)min(walked, (u64)DJS_WALKED_AT_ONCE + 1);
	if (walked > DJS_WALKED_AT_ONCE)
		fail_walk(ctx, pace, DJS_WALKED_AT_ONCE / max(pace->weight, 1u), place);
	return !ctx->error;
}

/* Pauses if it is time for that. False: stop. */
static DJS_HANDLER_CODE bool go_on(struct djs_ctx *ctx, struct djs_pace *pace, u32 place)
{
	if (pace->rests && pace->walked >= ELEMENTS_UNTIL_REST) {
		pace->walked = 0;
		djs_rest(ctx);
	} else if (pace->walked > pace->at_once && ctx->rests == DJS_RESTS_NEVER) {
		fail_walk(ctx, pace, pace->at_once, place);
	}
	return !ctx->error;
}

/* ---- foreach ---- */

static inline bool sorts(const struct djs_iterator *iterator)
{
	return iterator->order->key >= 0;
}

static inline u32 which_of(const struct djs_ctx *ctx)
{
	return ctx->rests == DJS_RESTS_SHARED;
}

/* True if the foreach keeps state in the iterator. Otherwise it only reads it: several CPUs may, as
 * readers of the array. */
static inline bool keeps_state(const struct djs_ctx *ctx, const struct djs_iterator *iterator)
{
	return ctx->rests == DJS_RESTS_SHARED || sorts(iterator);
}

static inline struct djs_map_walk *walk_of(const struct djs_ctx *ctx, struct djs_foreach *foreach)
{
	return ctx->rests == DJS_RESTS_SHARED ? &foreach->iterator->rankings[1].walk
					      : &foreach->walk;
}

/* In a task: the walk continues where others change the map. */
static DJS_HANDLER_CODE void register_walk(struct djs_ctx *ctx, struct djs_iterator *iterator)
{
	if (ctx->rests == DJS_RESTS_SHARED)
		djs_map_register(*iterator->array->map, &iterator->rankings[1].walk);
}

static DJS_HANDLER_CODE void unregister_walk(struct djs_ctx *ctx, struct djs_iterator *iterator)
{
	if (ctx->rests == DJS_RESTS_SHARED)
		djs_map_unregister(*iterator->array->map, &iterator->rankings[1].walk);
}

/* Returns the number of best elements to select, or DJS_MAP_MORE: all are collected. */
static DJS_HANDLER_CODE u32 selected(const struct djs_foreach *foreach, u32 count, u32 room,
				     bool rests)
{
	u32 wanted = foreach->left < count ? (u32)foreach->left : count;

	if (wanted == count || wanted > room)
		return DJS_MAP_MORE;
	return wanted <= DJS_SELECTED_AT_ONCE || (rests && count > room) ? wanted : DJS_MAP_MORE;
}

/* How many levels of a heap are below its top. */
static DJS_HANDLER_CODE u32 levels_of(u32 count)
{
	return count ? 31 - (u32)__builtin_clz(count) : 0;
}

/*
 * Adds to the weight of an element what it takes to sort it. To heap all of them takes two
 * comparisons for each; where the best are selected, each may sink from the top to the bottom,
 * because the worst come first.
 */
static DJS_HANDLER_CODE void weigh_order(struct djs_pace *pace, const struct djs_map_shape *shape,
					 const struct djs_map_order *order, u32 most)
{
	bool selects = most != DJS_MAP_MORE;

	pace->texts = sorts_texts(shape, order) ? shape->string_bytes : 0;
	if (pace->texts)
		pace->weight += (selects ? 1 + 2 * levels_of(most) : 2) * text_compared(shape);
	else
		pace->weight += (selects && most > DJS_SELECTED_EASILY) +
				(order->key == 0 && shape->value_type == DJS_STATISTIC);
	pace->at_once = min(pace->at_once, DJS_WALKED_AT_ONCE / pace->weight);
}

/*
 * Each turn of the loop lets an element sink from the top of the heap to its bottom. Of those that
 * were selected, that is paid for.
 */
static DJS_HANDLER_CODE void weigh_turns(struct djs_pace *pace, const struct djs_map_shape *shape,
					 u32 count, u32 most)
{
	pace->weight =
	    pace->texts && most == DJS_MAP_MORE ? 2 * levels_of(count) * text_compared(shape) : 0;
	pace->at_once = DJS_MAP_MORE; /* if no strings are compared, they take little time */
}

static DJS_HANDLER_CODE void sort_elements(struct djs_ctx *ctx, struct djs_foreach *foreach)
{
	struct djs_iterator *iterator = foreach->iterator;
	struct djs_ranking *ranking = &iterator->rankings[which_of(ctx)];
	const struct djs_map_shape *shape = &iterator->array->shape;
	struct djs_map *map = *iterator->array->map;
	u32 count = djs_map_count(map), at_once = sorted_at_once(shape, iterator->order);
	u32 most, piece;
	enum djs_ranking_state state;
	bool rests = ctx->rests != DJS_RESTS_NEVER;

	/* String values may change while others run, which would make the order arbitrary. */
	if (ctx->rests == DJS_RESTS_SHARED && iterator->order->key == 0 &&
	    shape->value_type == DJS_STRING)
		rests = false;
	foreach->pace.rests = rests && count > at_once;
	ranking->room = iterator->rooms[which_of(ctx)];
	if (!rests)
		ranking->room = min(ranking->room, at_once);
	most = selected(foreach, count, ranking->room, rests);
	weigh_order(&foreach->pace, shape, iterator->order, most);
	if (!rests && count > foreach->pace.at_once) {
		fail_walk(ctx, &foreach->pace, foreach->pace.at_once, foreach->place);
		return;
	}
	if (!charge(ctx, &foreach->pace, count, foreach->place))
		return;
	piece = max(min(WEIGHT_UNTIL_REST / foreach->pace.weight, (u32)ELEMENTS_UNTIL_REST), 1u);
	ranking->cuts = rests;
	djs_ranking_begin(map, ranking, most);
	register_walk(ctx, iterator);
	do {
		state = djs_ranking_step(*iterator->array->map, ranking, iterator->order,
					 foreach->slice, piece);
		foreach->pace.walked += ELEMENTS_UNTIL_REST;
	} while (state == DJS_RANKING_MORE &&
		 (!rests || go_on(ctx, &foreach->pace, foreach->place)));
	weigh_turns(&foreach->pace, shape, ranking->count, most);
	if (state == DJS_RANKING_TOO_MANY)
		djs_fail_text(ctx, foreach->place,
			      "cannot sort more than %u elements with interrupts disabled: use a "
			      "limit of %u or less, a timer or an end probe",
			      at_once, DJS_SELECTED_AT_ONCE);
}

DJS_HANDLER_CODE void djs_foreach_begin(struct djs_ctx *ctx, struct djs_foreach *foreach,
					struct djs_iterator *iterator, const union djs_value *slice,
					s64 limit, u32 place)
{
	u32 fixed = iterator->order->fixed;

	foreach->iterator = iterator;
	foreach->slice = slice;
	foreach->walk.removed = NULL;
	foreach->left = limit < 0 ? S64_MAX : limit;
	foreach->place = place;
	if (keeps_state(ctx, iterator))
		foreach->serial = ++iterator->serials[which_of(ctx)];
	foreach->actions = ctx->actions;
	set_pace(ctx, &foreach->pace, iterator->array, fixed);
	foreach->plain =
	    !sorts(iterator) && !fixed && ctx->rests != DJS_RESTS_SHARED && !foreach->pace.rests;
	unregister_walk(ctx, iterator); /* in case a break left an earlier foreach */
	if (!limit)
		return;
	if (sorts(iterator)) {
		sort_elements(ctx, foreach);
		return;
	}
	djs_map_walk_begin(*iterator->array->map, walk_of(ctx, foreach));
	register_walk(ctx, iterator);
}

/* Handles sorted walks, slices, and arrays that others may change meanwhile. */
static DJS_HANDLER_CODE u32 next_of_many(struct djs_ctx *ctx, struct djs_foreach *foreach)
{
	struct djs_iterator *iterator = foreach->iterator;
	u32 which = which_of(ctx), number = DJS_MAP_MORE;

	if (keeps_state(ctx, iterator) && foreach->serial != iterator->serials[which]) {
		djs_fail(
		    ctx,
		    "this foreach was entered again from its own body, but can keep only one order",
		    foreach->place);
		return 0;
	}
	if (foreach->pace.rests && foreach->actions - ctx->actions >= ACTIONS_UNTIL_REST) {
		foreach->actions = ctx->actions;
		foreach->pace.walked += ELEMENTS_UNTIL_REST;
	}
	while (number == DJS_MAP_MORE) {
		const struct djs_map *map;
		u32 steps = ELEMENTS_UNTIL_REST, visited;

		if (!go_on(ctx, &foreach->pace, foreach->place))
			return 0;
		map = *iterator->array->map;
		number = sorts(iterator) ? djs_ranking_first(map, &iterator->rankings[which],
							     iterator->order, &steps)
					 : djs_map_next(map, walk_of(ctx, foreach), foreach->slice,
							iterator->order->fixed, &steps);
		visited = ELEMENTS_UNTIL_REST - steps;
		foreach->pace.walked += visited;
		if (!charge(ctx, &foreach->pace,
			    sorts(iterator) ? visited / DJS_STEPS_OF_A_FIRST : visited,
			    foreach->place))
			return 0;
	}
	if (!number)
		unregister_walk(ctx, iterator);
	return number;
}

DJS_HANDLER_CODE u32 djs_foreach_next(struct djs_ctx *ctx, struct djs_foreach *foreach)
{
	u32 one = 1;

	if (unlikely(foreach->left == 0))
		return 0;
	foreach->left--;
	if (likely(foreach->plain))
		return djs_map_next(*foreach->iterator->array->map, &foreach->walk, NULL, 0, &one);
	return next_of_many(ctx, foreach);
}

/* ---- slices ---- */

/* Removes the elements of a slice, or returns true if it has any. */
static DJS_HANDLER_CODE bool walk_slice(struct djs_ctx *ctx, const struct djs_map_use *array,
					const union djs_value *keys, u32 fixed, u32 place,
					bool erases)
{
	static struct djs_map_walk of_tasks;
	struct djs_map_walk own = {}, *walk = ctx->rests == DJS_RESTS_SHARED ? &of_tasks : &own;
	bool follows = erases || ctx->rests == DJS_RESTS_SHARED;
	struct djs_pace pace;
	u32 number = 0;

	set_pace(ctx, &pace, array, fixed);
	if (erases && ctx->rests == DJS_RESTS_NEVER && djs_map_count(*array->map) > pace.at_once) {
		fail_walk(ctx, &pace, pace.at_once, place); /* either all of them, or none */
		return false;
	}
	pace.weight += erases; /* to remove it takes as long as to look at it */
	if (erases && !charge(ctx, &pace, djs_map_count(*array->map), place))
		return false;
	djs_map_walk_begin(*array->map, walk);
	if (follows)
		djs_map_register(*array->map, walk);
	while (go_on(ctx, &pace, place)) {
		u32 steps = ELEMENTS_UNTIL_REST;

		number = djs_map_next(*array->map, walk, keys, fixed, &steps);
		pace.walked += ELEMENTS_UNTIL_REST - steps;
		if (!erases && !charge(ctx, &pace, ELEMENTS_UNTIL_REST - steps, place))
			break;
		if (!number || (number != DJS_MAP_MORE && !erases))
			break;
		if (number != DJS_MAP_MORE)
			djs_map_remove(*array->map, number);
	}
	if (follows)
		djs_map_unregister(*array->map, walk);
	return number && number != DJS_MAP_MORE;
}

DJS_HANDLER_CODE void djs_erase_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys,
				      u32 fixed, u32 place)
{
	walk_slice(ctx, &djs_script.maps[map], keys, fixed, place, true);
}

DJS_HANDLER_CODE u32 djs_has_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys,
				   u32 fixed, u32 place)
{
	return walk_slice(ctx, &djs_script.maps[map], keys, fixed, place, false);
}
