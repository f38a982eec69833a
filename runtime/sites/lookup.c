// SPDX-License-Identifier: GPL-2.0-or-later
// Maps a hit to its site: a perfect hash over the sites' addresses and handlers, built when the
// addresses are known. A look-up costs one multiplication and five loads, however many sites there
// are.
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "arch/runtime.h"
#include "sites/drain.h"
#include "sites/sites.h"

/*
 * A key is multiplied to 128 bits. The highest bits of the low half select its bucket, the lowest
 * bits of the high half its place. A bucket's shift moves all its keys to slots that the keys of no
 * other bucket have: it is found by trial, large buckets first.
 */
struct slot {
	u64 key;
	const struct djs_site *site; /* NULL: the slot is free */
};
struct lookup {
	u64 multiplier;
	u64 bucket_mask; /* as wide as a hash: saves one instruction */
	u32 slot_mask;
	struct slot *slots;
	u16 shifts[];
};
static struct lookup *current_lookup;

#define BUCKET_AT	48
#define MAX_BUCKETS	65536u
#define SHIFTS		65536u
#define LOOKUP_ATTEMPTS 64

/* Kernel and modules are in the highest 4 GB: the low half of an address identifies it. */
static __always_inline u64 key_of(const struct djs_handler *handler, u64 return_address)
{
	return return_address + ((u64)(unsigned long)handler << 32);
}

DJS_HANDLER_CODE const struct djs_site *djs_find_site(const struct djs_handler *handler,
						      u64 return_address)
{
	const struct lookup *lookup = READ_ONCE(current_lookup);
	unsigned __int128 hash =
	    (unsigned __int128)key_of(handler, return_address) * lookup->multiplier;
	u32 shift = lookup->shifts[((u64)hash >> BUCKET_AT) & lookup->bucket_mask];
	const struct slot *slot = &lookup->slots[((u32)(hash >> 64) + shift) & lookup->slot_mask];

	/* If a livepatch, or a kprobe, replaces the function, the call returns elsewhere. */
	return likely(slot->key == key_of(handler, return_address)) ? slot->site : NULL;
}

/*
 * ---- building the table -----------------------------------------------------------------------
 */

struct lookup_key {
	u64 key;
	u32 bucket, place;
	const struct djs_site *site;
};
struct lookup_work {
	struct lookup_key *keys; /* in the order of their buckets */
	struct lookup_key *unordered;
	u32 *starts; /* of each bucket: [buckets + 1] */
	u32 *order;  /* buckets, largest first */
	u32 count, buckets;
};

static void hash_keys(const struct lookup *lookup, struct lookup_work *work)
{
	u32 i;

	for (i = 0; i < work->count; i++) {
		struct lookup_key *key = &work->unordered[i];
		unsigned __int128 hash = (unsigned __int128)key->key * lookup->multiplier;

		key->bucket = ((u64)hash >> BUCKET_AT) & lookup->bucket_mask;
		key->place = hash >> 64;
	}
}

static void sort_into_buckets(struct lookup_work *work)
{
	u32 i, size, filled = 0, biggest = 0;

	memset(work->starts, 0, (work->buckets + 1) * sizeof(*work->starts));
	for (i = 0; i < work->count; i++)
		work->starts[work->unordered[i].bucket + 1]++;
	for (i = 0; i < work->buckets; i++) {
		biggest = max(biggest, work->starts[i + 1]);
		work->starts[i + 1] += work->starts[i];
	}
	for (size = biggest; size > 0; size--)
		for (i = 0; i < work->buckets; i++)
			if (work->starts[i + 1] - work->starts[i] == size)
				work->order[filled++] = i;
	for (; filled < work->buckets; filled++)
		work->order[filled] = DJS_NO_INDEX; /* the remaining buckets are empty */
	for (i = work->count; i-- > 0;)
		work->keys[--work->starts[work->unordered[i].bucket + 1]] = work->unordered[i];
	/*
	 * Each start has been moved from the end of its bucket to its beginning: shift by one
	 * place.
	 */
	for (i = 0; i < work->buckets; i++)
		work->starts[i] = work->starts[i + 1];
	work->starts[work->buckets] = work->count;
}

static struct slot *slot_of(const struct lookup *lookup, u32 place, u32 shift)
{
	return &lookup->slots[(place + shift) & lookup->slot_mask];
}

/* Takes the slots of keys first … last - 1, or none of them. */
static bool take_slots(const struct lookup *lookup, const struct lookup_work *work, u32 first,
		       u32 last, u32 shift)
{
	u32 i;

	for (i = first; i < last; i++) {
		struct slot *slot = slot_of(lookup, work->keys[i].place, shift);

		if (slot->site)
			break;
		*slot = (struct slot){work->keys[i].key, work->keys[i].site};
	}
	if (i == last)
		return true;
	while (i-- > first)
		slot_of(lookup, work->keys[i].place, shift)->site = NULL;
	return false;
}

/* Of a table that is new. */
static bool place_all(struct lookup *lookup, struct lookup_work *work)
{
	u32 i, shift, most = min(lookup->slot_mask, SHIFTS - 1);

	hash_keys(lookup, work);
	sort_into_buckets(work);
	for (i = 0; i < work->buckets && work->order[i] != DJS_NO_INDEX; i++) {
		u32 bucket = work->order[i];

		for (shift = 0; shift <= most; shift++)
			if (take_slots(lookup, work, work->starts[bucket], work->starts[bucket + 1],
				       shift))
				break;
		if (shift > most)
			return false;
		lookup->shifts[bucket] = shift;
		if (!(i & 1023))
			cond_resched();
	}
	return true;
}

static void free_lookup(struct lookup *lookup)
{
	if (lookup)
		kvfree(lookup->slots);
	kvfree(lookup);
}

static struct lookup *new_lookup(u32 buckets, u32 slots)
{
	struct lookup *lookup = kvzalloc(struct_size(lookup, shifts, buckets), GFP_KERNEL);

	if (!lookup)
		return NULL;
	lookup->bucket_mask = buckets - 1;
	lookup->slot_mask = slots - 1;
	lookup->slots = kvcalloc(slots, sizeof(*lookup->slots), GFP_KERNEL);
	if (lookup->slots)
		return lookup;
	kvfree(lookup);
	return NULL;
}

/*
 * Most scripts' handlers do not ask which of their sites was hit. A direct call asks if its
 * trampoline is marked so, an ftrace_ops if its handler has no code of its own for it; a site that
 * is planned for a direct call may get an ftrace_ops.
 */
static bool is_told_by_address(const struct djs_site_run *run)
{
	const struct djs_site *site = run->site;
	bool direct = djs_mechanism_can(site->mechanism, DJS_IS_DIRECT);

	if (!site->address || run->absent || !(direct || site->mechanism == DJS_MECHANISM_FTRACE))
		return false;
	return (direct && djs_script.trampolines[site->trampoline].by_address) ||
	       !djs_script.handlers[site->handler].by_ftrace;
}

/* Spares tens of thousands of sites the question: false if none is told by its address. */
static bool any_may_be_told_by_address(void)
{
	u32 i;

	for (i = 0; i < djs_script.trampoline_count; i++)
		if (djs_script.trampolines[i].by_address)
			return true;
	for (i = 0; i < djs_script.handler_count; i++)
		if (!djs_script.handlers[i].by_ftrace)
			return true;
	return false;
}

static void gather_keys(struct lookup_work *work)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++) {
		const struct djs_site_run *run = &djs_sites[i];

		if (!is_told_by_address(run))
			continue;
		work->unordered[count].key =
		    key_of(&djs_script.handlers[run->site->handler], run->address + DJS_CALL_BYTES);
		work->unordered[count++].site = run->site;
	}
	work->count = count;
}

static struct lookup *make_lookup(struct lookup_work *work)
{
	u32 slots = roundup_pow_of_two(max(work->count + work->count / 2, 1u));
	u32 attempt;

	for (attempt = 0; attempt < LOOKUP_ATTEMPTS; attempt++) {
		struct lookup *lookup = new_lookup(work->buckets, slots);

		if (!lookup)
			return ERR_PTR(-ENOMEM);
		lookup->multiplier = get_random_u64() | 1;
		if (place_all(lookup, work))
			return lookup;
		free_lookup(lookup);
		if (attempt % 16 == 15)
			slots *= 2;
	}
	return ERR_PTR(-ENOSPC);
}

int djs_lookup_update(void)
{
	struct lookup *lookup, *before = current_lookup;
	struct lookup_work work = {};
	u32 i, most = 0;

	if (any_may_be_told_by_address())
		for (i = 0; i < djs_script.site_count; i++)
			most += is_told_by_address(&djs_sites[i]);
	work.buckets = min(roundup_pow_of_two(most / 3 + 1), (unsigned long)MAX_BUCKETS);
	work.keys = kvcalloc(max(most, 1u), sizeof(*work.keys), GFP_KERNEL);
	work.unordered = kvcalloc(max(most, 1u), sizeof(*work.unordered), GFP_KERNEL);
	work.starts = kvcalloc(work.buckets + 1, sizeof(*work.starts), GFP_KERNEL);
	work.order = kvcalloc(work.buckets, sizeof(*work.order), GFP_KERNEL);
	lookup = ERR_PTR(-ENOMEM);
	if (work.keys && work.unordered && work.starts && work.order) {
		if (most)
			gather_keys(&work);
		lookup = make_lookup(&work);
	}
	kvfree(work.keys);
	kvfree(work.unordered);
	kvfree(work.starts);
	kvfree(work.order);
	if (IS_ERR(lookup))
		return PTR_ERR(lookup);
	smp_store_release(&current_lookup, lookup);
	if (before) {
		djs_drain_handlers();
		free_lookup(before);
	}
	return 0;
}

void djs_lookup_exit(void)
{
	free_lookup(current_lookup);
	current_lookup = NULL;
}
