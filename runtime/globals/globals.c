// SPDX-License-Identifier: GPL-2.0-or-later
// Storage of a script's globals: maps, per-CPU statistics and counters. All of it is allocated
// before the first handler runs.
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "cpu/level.h"
#include "cpu/memory.h"
#include "globals/globals.h"

/* Per-CPU counters only grow; clearing one stores its total here, so that no CPU's increment is
 * lost. */
static s64 *counter_bases;

/*
 * A per-CPU statistic: two copies per CPU, because an NMI cannot be kept out of the first. Clearing
 * starts a new epoch; a copy of an older epoch counts as empty, and its own CPU empties it at the
 * next <<<.
 */
struct statistic {
	u8 __percpu *copies;
	u32 stride; /* size of a copy: the element, then its epoch */
	atomic64_t epoch;
};
static struct statistic *statistics;

static s64 *epoch_of(const struct statistic *statistic, void *copy)
{
	return copy + statistic->stride - sizeof(s64);
}

void *djs_allocate(u64 bytes)
{
	if (!bytes || !djs_memory_allows(bytes))
		return NULL;
	return __vmalloc(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

static int maps_init(void)
{
	u32 i;

	for (i = 0; i < djs_script.map_count; i++) {
		const struct djs_map_use *use = &djs_script.maps[i];
		u64 bytes = djs_map_bytes(&use->shape);
		void *memory = djs_allocate(bytes);

		if (!memory) {
			djs_error("no memory for an array of %u elements (%llu bytes)",
				  use->shape.capacity, bytes);
			return -ENOMEM;
		}
		*use->map = djs_map_init(memory, &use->shape, get_random_u64());
	}
	return 0;
}

static void maps_exit(void)
{
	u32 i;

	for (i = 0; i < djs_script.map_count; i++) {
		struct djs_map **map = djs_script.maps[i].map;

		if (*map)
			vfree(djs_map_memory(*map));
		*map = NULL;
	}
}

/* Handlers update minimum and maximum by comparison alone: an empty copy holds limits that every
 * value exceeds. */
static void prepare_inline_adds(const struct statistic *statistic)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct djs_statistic *copy = (void *)per_cpu_ptr(statistic->copies, cpu);

		copy->min = S64_MAX;
		copy->max = S64_MIN;
	}
}

static int statistics_init(void)
{
	u32 i;

	if (!djs_script.statistic_count)
		return 0;
	statistics = kcalloc(djs_script.statistic_count, sizeof(*statistics), GFP_KERNEL);
	if (!statistics)
		return -ENOMEM;
	for (i = 0; i < djs_script.statistic_count; i++) {
		struct statistic *statistic = &statistics[i];
		u64 stride = DJS_ALIGN8(djs_script.statistics[i].shape.bytes) + sizeof(u64);

		if (2 * stride <= PCPU_MIN_UNIT_SIZE)
			statistic->copies = __alloc_percpu(2 * stride, 8);
		if (!statistic->copies) {
			djs_error("no memory for a per-CPU statistic of %llu bytes", stride);
			return -ENOMEM;
		}
		statistic->stride = stride;
		if (djs_script.statistics[i].shape.inline_adds)
			prepare_inline_adds(statistic);
		if (djs_script.statistics[i].percpu)
			*djs_script.statistics[i].percpu =
			    (void *)(__force unsigned long)statistic->copies;
	}
	return 0;
}

static void statistics_exit(void)
{
	u32 i;

	if (!statistics)
		return;
	for (i = 0; i < djs_script.statistic_count; i++)
		free_percpu(statistics[i].copies);
	kfree(statistics);
	statistics = NULL;
}

int djs_globals_init(void)
{
	int error = maps_init();

	if (!error)
		error = djs_iterators_init();
	if (!error)
		error = statistics_init();
	if (!error && djs_script.counter_count) {
		counter_bases =
		    kvcalloc(djs_script.counter_count, sizeof(*counter_bases), GFP_KERNEL);
		if (!counter_bases)
			error = -ENOMEM;
	}
	if (error)
		djs_globals_exit();
	return error;
}

void djs_globals_exit(void)
{
	kvfree(counter_bases);
	counter_bases = NULL;
	statistics_exit();
	djs_iterators_exit();
	maps_exit();
}

static DJS_HANDLER_CODE s64 counter_total(u32 counter)
{
	s64 __percpu *address =
	    (s64 __percpu __force *)(unsigned long)(djs_script.counters + counter);
	unsigned int cpu;
	s64 sum = 0;

	for_each_possible_cpu (cpu)
		sum += READ_ONCE(*per_cpu_ptr(address, cpu));
	return sum;
}

/* Reads of what is cleared meanwhile begin anew, but not for ever. */
#define READ_ATTEMPTS 8

DJS_HANDLER_CODE s64 djs_counter_read(u32 counter)
{
	s64 base, total;
	int attempt;

	/* The base first: the total that belongs to a later one may not be reached yet. */
	for (attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		base = READ_ONCE(counter_bases[counter]);
		smp_rmb();
		total = counter_total(counter);
		smp_rmb();
		if (READ_ONCE(counter_bases[counter]) == base)
			break;
	}
	return total - base;
}

DJS_HANDLER_CODE void djs_counter_clear(u32 counter)
{
	s64 *base = &counter_bases[counter], old;
	int attempt;

	/* A concurrent clear may have seen a later total. Two attempts are enough: whoever wins the
	 * second one, too, read the base after the first attempt had failed, so its total includes
	 * everything that was counted when this clear began. */
	for (attempt = 0; attempt < 2; attempt++) {
		old = READ_ONCE(*base);
		if (cmpxchg(base, old, counter_total(counter)) == old)
			break;
	}
}

DJS_HANDLER_CODE void djs_statistic_record(u32 number, s64 value)
{
	const struct djs_statistic_shape *shape = &djs_script.statistics[number].shape;
	struct statistic *statistic = &statistics[number];
	unsigned long flags;
	s64 epoch;
	u8 *copy;

	raw_local_irq_save(flags);
	copy = this_cpu_ptr(statistic->copies);
	if (djs_in_nmi())
		copy += statistic->stride;
	epoch = atomic64_read(&statistic->epoch);
	if (unlikely(*epoch_of(statistic, copy) != epoch)) {
		djs_statistic_empty(shape, (struct djs_statistic *)copy);
		smp_store_release(epoch_of(statistic, copy), epoch);
	}
	djs_statistic_add(shape, (struct djs_statistic *)copy, value);
	raw_local_irq_restore(flags);
}

/*
 * Reads copies that handlers update with inline code. A task may migrate in the middle of an
 * update, so a copy may have a sum and no count: all copies are added up. The count is written last
 * and read first.
 */
static DJS_HANDLER_CODE void read_inline_adds(const struct djs_statistic_shape *shape,
					      const struct statistic *statistic,
					      struct djs_statistic *out)
{
	unsigned int cpu;
	u32 i;

	out->min = S64_MAX;
	out->max = S64_MIN;
	for_each_possible_cpu (cpu)
		out->count +=
		    READ_ONCE(((struct djs_statistic *)per_cpu_ptr(statistic->copies, cpu))->count);
	smp_rmb();
	for_each_possible_cpu (cpu) {
		const struct djs_statistic *copy = (void *)per_cpu_ptr(statistic->copies, cpu);

		out->sum += READ_ONCE(copy->sum);
		out->min = min(out->min, READ_ONCE(copy->min));
		out->max = max(out->max, READ_ONCE(copy->max));
		for (i = 0; i < shape->buckets; i++)
			out->buckets[i] += READ_ONCE(copy->buckets[i]);
	}
	if (!out->count)
		out->min = out->max = 0;
}

static DJS_HANDLER_CODE void read_epoch(const struct djs_statistic_shape *shape,
					const struct statistic *statistic, s64 epoch,
					struct djs_statistic *out)
{
	unsigned int cpu, i;

	for_each_possible_cpu (cpu) {
		u8 *copy = per_cpu_ptr(statistic->copies, cpu);

		for (i = 0; i < 2; i++, copy += statistic->stride)
			if (smp_load_acquire(epoch_of(statistic, copy)) == epoch)
				djs_statistic_merge(shape, out, (struct djs_statistic *)copy);
	}
}

DJS_HANDLER_CODE void djs_statistic_read(u32 number, struct djs_statistic *out)
{
	const struct djs_statistic_shape *shape = &djs_script.statistics[number].shape;
	const struct statistic *statistic = &statistics[number];
	int attempt;

	if (shape->inline_adds) {
		memset(out, 0, shape->bytes);
		read_inline_adds(shape, statistic, out);
		return;
	}
	/* Copies of this epoch are not emptied before the next one has begun. */
	for (attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		s64 epoch = atomic64_read(&statistic->epoch);

		memset(out, 0, shape->bytes);
		read_epoch(shape, statistic, epoch, out);
		smp_rmb();
		if (atomic64_read(&statistic->epoch) == epoch)
			break;
	}
}

DJS_HANDLER_CODE void djs_statistic_clear(u32 number)
{
	/*
	 * The epoch never decreases, however many clears run at once: copies of older epochs may
	 * still exist.
	 */
	atomic64_inc(&statistics[number].epoch);
}
