// SPDX-License-Identifier: GPL-2.0-or-later
// The executable mappings of each address space. A task replaces the sorted list of a space as a
// whole, and handlers search it: they cannot take the lock of the kernel's own list.
//
// An address that is no longer mapped may remain in a list, because no call returns there; whatever
// is mapped at it later replaces the list before the process runs it. A space refers to its mm, so
// that no other one gets the same address, until a work item finds that the mm has no user.
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cpu/queue.h"
#include "ustack/ustack.h"

#define SPACE_BUCKET_BITS 10
#define SWEEP_AFTER	  HZ
/* A process may map the same file again and again, always elsewhere: it is not to take the numbers
 * of all others. */
#define PLACES_OF_SPACE 4096

struct space {
	struct hlist_node link;
	struct mm_struct *mm;
	struct djs_user_map *map;
	struct space *next_removed;
};

static struct hlist_head buckets_of_spaces[1 << SPACE_BUCKET_BITS];
static DEFINE_MUTEX(spaces_mutex);
static u32 space_count;

static DJS_HANDLER_CODE struct hlist_head *bucket_of(const struct mm_struct *mm)
{
	return &buckets_of_spaces[hash_64((unsigned long)mm, SPACE_BUCKET_BITS)];
}

static DJS_HANDLER_CODE struct space *find_space(const struct mm_struct *mm)
{
	struct hlist_node *node = READ_ONCE(bucket_of(mm)->first);

	for (; node; node = READ_ONCE(node->next)) {
		struct space *space = hlist_entry(node, struct space, link);

		if (READ_ONCE(space->mm) == mm)
			return space;
	}
	return NULL;
}

DJS_HANDLER_CODE struct djs_user_map *djs_user_map_of(const struct mm_struct *mm)
{
	struct space *space = find_space(mm);

	return space ? READ_ONCE(space->map) : NULL;
}

DJS_HANDLER_CODE struct djs_user_mapping *djs_user_mapping_at(struct djs_user_map *map, u64 address)
{
	u32 low = 0, high = map->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (map->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->count && map->mappings[low].begin <= address ? &map->mappings[low] : NULL;
}

DJS_HANDLER_CODE u64 djs_user_word_in(struct djs_user_map *map, struct djs_user_mapping *mapping,
				      u64 address, bool returns)
{
	bool is_new = false;
	u32 place = 0;

	if (mapping && mapping->image != DJS_NO_USER_IMAGE) {
		place = READ_ONCE(mapping->place);
		if (unlikely(!place)) {
			place = djs_user_place(mapping->image, mapping->bias,
					       READ_ONCE(map->places) < PLACES_OF_SPACE, &is_new);
			WRITE_ONCE(mapping->place, place);
			if (is_new)
				WRITE_ONCE(map->places, READ_ONCE(map->places) + 1);
		}
	}
	return djs_word(address, place, returns && place);
}

/* ---- in a task ------------------------------------------------------------------------------- */

static void sweep_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep, sweep_run);

/* Removes the spaces that no process uses, or all; returns how many remain. */
static u32 remove_spaces(bool all)
{
	struct space *space, *removed = NULL;
	struct hlist_node *next;
	u32 i, left;

	mutex_lock(&spaces_mutex);
	for (i = 0; i < ARRAY_SIZE(buckets_of_spaces); i++) {
		hlist_for_each_entry_safe(space, next, &buckets_of_spaces[i], link)
		{
			if (!all && atomic_read(&space->mm->mm_users))
				continue;
			hlist_del_rcu(&space->link); /* a handler at it still finds the next one */
			space->next_removed = removed;
			removed = space;
			space_count--;
		}
	}
	left = space_count;
	mutex_unlock(&spaces_mutex);
	if (removed)
		synchronize_rcu();
	while ((space = removed)) {
		removed = space->next_removed;
		mmdrop(space->mm);
		kvfree(space->map);
		kfree(space);
	}
	return left;
}

static void sweep_run(struct work_struct *work)
{
	if (remove_spaces(false))
		queue_delayed_work(DJS_QUEUE, &sweep, SWEEP_AFTER);
}

int djs_user_space_set(struct mm_struct *mm, struct djs_user_map *map)
{
	struct djs_user_map *old = NULL;
	struct space *space;

	mutex_lock(&spaces_mutex);
	space = find_space(mm);
	if (!space) {
		space = kmalloc(sizeof(*space), GFP_KERNEL);
		if (!space) {
			mutex_unlock(&spaces_mutex);
			kvfree(map);
			return -ENOMEM;
		}
		mmgrab(mm);
		space->mm = mm;
		space->map = map;
		space_count++;
		hlist_add_head_rcu(&space->link, bucket_of(mm));
	} else if (space->map->order > map->order) {
		old = map;
	} else {
		old = space->map;
		map->places = READ_ONCE(old->places);
		smp_store_release(&space->map, map);
	}
	mutex_unlock(&spaces_mutex);
	if (old)
		kvfree_rcu(old, rcu);
	queue_delayed_work(DJS_QUEUE, &sweep, SWEEP_AFTER);
	return 0;
}

void djs_user_spaces_exit(void)
{
	cancel_delayed_work_sync(&sweep);
	remove_spaces(true);
}
