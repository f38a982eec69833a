// SPDX-License-Identifier: GPL-2.0-or-later
// One ring per CPU. See include/record.h for the protocol with the reader.
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "arch/runtime.h"
#include "cpu/memory.h"
#include "record/rings.h"

DEFINE_PER_CPU(struct djs_cpu, djs_cpu);
u64 djs_ring_bytes;

struct ring_pages {
	struct page **pages; /* the tail's page, the data, the data again */
	void *mapping;	     /* the data twice in a row */
};
static struct ring_pages *rings; /* [nr_cpu_ids] */
static unsigned long data_pages;

static void ring_exit(unsigned int cpu)
{
	struct ring_pages *ring = &rings[cpu];
	unsigned long i;

	per_cpu(djs_cpu, cpu).data = NULL;
	per_cpu(djs_cpu, cpu).limit = 0;
	if (ring->mapping)
		vunmap(ring->mapping);
	if (ring->pages)
		for (i = 0; i <= data_pages && ring->pages[i]; i++)
			/* A reader that still maps the page holds a reference of its own. */
			__free_page(ring->pages[i]);
	kvfree(ring->pages);
}

static int ring_init(unsigned int cpu)
{
	struct ring_pages *ring = &rings[cpu];
	struct djs_cpu *data = per_cpu_ptr(&djs_cpu, cpu);
	unsigned long i;

	ring->pages = kvcalloc(1 + 2 * data_pages, sizeof(*ring->pages), GFP_KERNEL);
	if (!ring->pages)
		return -ENOMEM;
	for (i = 0; i <= data_pages; i++) {
		ring->pages[i] =
		    alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY, 0);
		if (!ring->pages[i])
			return -ENOMEM;
		if (i)
			ring->pages[data_pages + i] = ring->pages[i];
	}
	ring->mapping = vmap(ring->pages + 1, 2 * data_pages, VM_MAP, PAGE_KERNEL);
	if (!ring->mapping)
		return -ENOMEM;
	data->head = 0;
	data->limit = djs_overwrite ? DJS_PART_BYTES : djs_ring_bytes;
	data->data = ring->mapping;
	data->mask = djs_ring_bytes - 1;
	data->page = page_address(ring->pages[0]);
	data->lost = 0;
	return djs_dump_pages_add(cpu, ring->pages, 1 + data_pages);
}

/* `bytes`: a power of two and a multiple of the page size. */
int djs_rings_init(u64 bytes)
{
	unsigned int cpu;
	int error;

	djs_ring_bytes = bytes;
	data_pages = bytes >> PAGE_SHIFT;
	/* Each page has two pointers in ring_pages.pages and two entries in the mapping's page
	 * tables. */
	if (!djs_memory_allows(num_possible_cpus() * (bytes + 4 * sizeof(void *) * data_pages)))
		return -ENOMEM;
	rings = kcalloc(nr_cpu_ids, sizeof(*rings), GFP_KERNEL);
	if (!rings || djs_dump_pages_init(1 + data_pages)) {
		djs_rings_exit();
		return -ENOMEM;
	}
	for_each_possible_cpu (cpu) {
		error = ring_init(cpu);
		if (error) {
			djs_rings_exit();
			return error;
		}
	}
	return 0;
}

void djs_rings_exit(void)
{
	unsigned int cpu;

	if (!rings)
		return;
	djs_dump_pages_exit();
	for_each_possible_cpu (cpu)
		ring_exit(cpu);
	kfree(rings);
	rings = NULL;
}

unsigned long djs_ring_pages(void)
{
	return 1 + data_pages;
}

struct page *djs_ring_page(unsigned int cpu, unsigned long index)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) || index > data_pages)
		return NULL;
	return rings[cpu].pages[index];
}

u64 djs_cpu_sum(size_t field_offset)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_possible_cpu (cpu)
		sum += READ_ONCE(*(u64 *)((char *)per_cpu_ptr(&djs_cpu, cpu) + field_offset));
	return sum;
}

u64 djs_rings_lost(void)
{
	return DJS_CPU_SUM(lost);
}

u64 djs_rings_overwritten(void)
{
	return DJS_CPU_SUM(overwritten);
}

u64 djs_rings_oversized(void)
{
	return DJS_CPU_SUM(oversized);
}

DJS_HANDLER_CODE void djs_count_lost(u32 size)
{
	if (size > djs_record_limit())
		this_cpu_inc(djs_cpu.oversized);
	else
		this_cpu_inc(djs_cpu.lost);
}

/*
 * Reads the reader's tail when the head has reached the limit; a record that exceeds any ring
 * always gets here, and is refused. User space can write the tail's memory: it is accepted only
 * between the previous tail and the head. If an NMI does the same in between, the limit stored here
 * is just an older, lower one.
 */
static noinline DJS_HANDLER_CODE bool more_room(u32 size)
{
	u64 seen = this_cpu_read(djs_cpu.limit) - djs_ring_bytes;
	u64 tail, head;

	if (size > djs_record_limit())
		return false;
	if (djs_overwrite)
		return djs_next_part(size);
	tail = smp_load_acquire(&this_cpu_read(djs_cpu.page)->tail);
	head = this_cpu_read(djs_cpu.head);
	if (tail - seen > head - seen || (tail & 7))
		return false;
	this_cpu_write(djs_cpu.limit, tail + djs_ring_bytes);
	return head + size <= tail + djs_ring_bytes;
}

static __always_inline struct djs_record *reserve_here(u32 size, u32 id)
{
	struct djs_record *record;
	u64 head, next, time;

	do {
		head = this_cpu_read(djs_cpu.head);
		next = head + size;
		if (unlikely(next > this_cpu_read(djs_cpu.limit)) && !more_room(size))
			return NULL;
		/* Before the head moves: an interrupting handler then has both the later time and
		 * the later place. */
		time = djs_cycles();
	} while (unlikely(this_cpu_cmpxchg(djs_cpu.head, head, next) != head));
	record = (struct djs_record *)(this_cpu_read(djs_cpu.data) +
				       (head & this_cpu_read(djs_cpu.mask)));
	record->id = id;
	/* The reader uses this while the record is being written: it tells when that began. */
	WRITE_ONCE(record->time, time);
	return record;
}

DJS_HANDLER_CODE u32 djs_make_room(u32 size)
{
	if (more_room(size))
		return 1;
	djs_count_lost(size);
	return 0;
}

DJS_HANDLER_CODE void djs_reschedule(void)
{
	preempt_disable_notrace();
	preempt_enable_notrace();
}

static u64 all_tails(void)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_possible_cpu (cpu)
		sum += READ_ONCE(per_cpu(djs_cpu, cpu).page->tail);
	return sum;
}

#define READER_PATIENCE (2 * HZ)

/* For begin, end and error probes: waits for room as long as an active reader exists. */
static noinline struct djs_record *reserve_waiting(u32 size, u32 id)
{
	static u64 stuck_at;
	static bool stuck;
	u64 tails = all_tails();
	unsigned long since = jiffies;
	struct djs_record *record;

	for (;;) {
		preempt_disable_notrace();
		record = reserve_here(size, id);
		if (record)
			return record; /* preemption stays disabled until the commit */
		preempt_enable_notrace();
		if (size > djs_record_limit() || !djs_reader_attached() ||
		    fatal_signal_pending(current))
			break;
		if (all_tails() != tails) {
			tails = all_tails();
			since = jiffies;
			stuck = false;
		} else if ((stuck && stuck_at == tails) ||
			   time_after(jiffies, since + READER_PATIENCE)) {
			stuck = true; /* the next record does not wait as long again */
			stuck_at = tails;
			break;
		}
		msleep(2);
	}
	return NULL;
}

DJS_HANDLER_CODE struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size)
{
	struct djs_record *record;

	record = unlikely(ctx->can_wait) ? reserve_waiting(size, id) : reserve_here(size, id);
	if (unlikely(!record)) {
		djs_count_lost(size);
		return NULL;
	}
	ctx->reserved = size;
	return record;
}

/*
 * `size` may be less than what was reserved. The record keeps its reserved size: the rest is zero,
 * and no format reads it.
 */
DJS_HANDLER_CODE void djs_commit(struct djs_ctx *ctx, struct djs_record *record, u32 size)
{
	djs_commit_here(ctx, record);
}
