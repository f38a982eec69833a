// SPDX-License-Identifier: GPL-2.0-or-later
// The flight recorder: rings that overwrite their oldest records, and the marker pages by which any
// ring is found in a crash dump. See include/recorder.h.
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "arch/runtime.h"
#include "include/recorder.h"
#include "record/rings.h"

bool djs_overwrite;

/*
 * True if every record of a part that is to be reused has been committed: an uncommitted one
 * belongs to a handler that was interrupted, by something that has filled the whole ring since. The
 * chain of records is in memory that its reader may write; a corrupt chain counts as complete.
 */
static DJS_HANDLER_CODE bool part_is_complete(const char *part, u64 *records)
{
	u32 at = 0;

	while (at + sizeof(struct djs_record) <= DJS_PART_BYTES) {
		const struct djs_record *record = (const struct djs_record *)(part + at);
		u32 size = smp_load_acquire(&record->size);

		if (!size)
			return false;
		if (size < sizeof(*record) || (size & 7) || size > DJS_PART_BYTES - at)
			return true;
		*records += record->id != DJS_RECORD_PADDING;
		at += size;
	}
	return true;
}

/* Fills the rest of the part that ends at `limit` with padding. Interrupting handlers may still
 * write into it. */
static DJS_HANDLER_CODE void close_part(u64 limit)
{
	struct djs_record *record;
	u64 head, time;

	do {
		head = this_cpu_read(djs_cpu.head);
		time = djs_cycles();
	} while (this_cpu_cmpxchg(djs_cpu.head, head, limit) != head);
	if (limit - head < sizeof(*record))
		return;
	record = (struct djs_record *)(this_cpu_read(djs_cpu.data) +
				       (head & this_cpu_read(djs_cpu.mask)));
	record->id = DJS_RECORD_PADDING;
	record->time = time;
	smp_store_release(&record->size, (u32)(limit - head));
}

/*
 * Makes room for `size` bytes, which fit a part, in the next part. Interrupts are disabled, and an
 * NMI in the middle of the change loses its record: the next part is zeroed before anything may be
 * written to it.
 */
DJS_HANDLER_CODE bool djs_next_part(u32 size)
{
	unsigned long flags;
	bool done = false;
	u64 limit, old = 0;
	char *part;

	raw_local_irq_save(flags);
	if (this_cpu_read(djs_cpu.changing_part))
		goto out;
	this_cpu_write(djs_cpu.changing_part, 1);
	barrier();
	limit = this_cpu_read(djs_cpu.limit);
	done = this_cpu_read(djs_cpu.head) + size <= limit;
	part = this_cpu_read(djs_cpu.data) + (limit & this_cpu_read(djs_cpu.mask));
	if (!done && (limit < djs_ring_bytes || part_is_complete(part, &old))) {
		memset(part, 0, DJS_PART_BYTES);
		close_part(limit);
		/* a reader that sees the new position also sees that the old records are gone */
		smp_wmb();
		WRITE_ONCE(this_cpu_read(djs_cpu.page)->newest, limit);
		this_cpu_write(djs_cpu.limit, limit + DJS_PART_BYTES);
		this_cpu_add(djs_cpu.overwritten, old);
		done = true;
	}
	barrier();
	this_cpu_write(djs_cpu.changing_part, 0);
out:
	raw_local_irq_restore(flags);
	return done;
}

/* Returns the position of the oldest record that still exists; there are no writers any more. */
u64 djs_oldest_part(const struct djs_cpu *data)
{
	return data->limit > djs_ring_bytes ? data->limit - djs_ring_bytes : 0;
}

/* ---- crash dumps ----------------------------------------------------------------------------- */

static struct djs_dump_page **dump_pages; /* [nr_cpu_ids * pages of a ring] */
static u32 dump_pages_per_ring;

static u64 identity(void)
{
	return djs_hash_bytes(djs_script.meta, djs_script.meta_bytes);
}

int djs_dump_pages_init(unsigned long pages_of_a_ring)
{
	dump_pages_per_ring = DIV_ROUND_UP(pages_of_a_ring, DJS_DUMP_PAGES);
	dump_pages =
	    kvcalloc((size_t)nr_cpu_ids * dump_pages_per_ring, sizeof(*dump_pages), GFP_KERNEL);
	return dump_pages ? 0 : -ENOMEM;
}

/* Returns a marker page for pages from `first` on, of `count` in all, whose numbers are still to
 * come. */
static struct djs_dump_page *dump_page_new(u32 cpu, u64 bytes, unsigned long first,
					   unsigned long count)
{
	struct djs_dump_page *page = (struct djs_dump_page *)get_zeroed_page(GFP_KERNEL);

	BUILD_BUG_ON(sizeof(struct djs_dump_page) > PAGE_SIZE);
	if (!page)
		return NULL;
	page->identity = identity();
	page->ring_bytes = bytes;
	page->cpu = cpu;
	page->first = first;
	page->count = min_t(unsigned long, count - first, DJS_DUMP_PAGES);
	page->overwrite = djs_overwrite;
	page->clock = djs_load_time;
	return page;
}

static void dump_page_free(struct djs_dump_page *page)
{
	if (!page)
		return;
	memset(page, 0, sizeof(*page)); /* a later dump must not find it */
	free_page((unsigned long)page);
}

/* Writes the marker pages of one CPU's ring. */
int djs_dump_pages_add(unsigned int cpu, struct page **pages, unsigned long count)
{
	u32 number, i;

	for (number = 0; number < dump_pages_per_ring; number++) {
		struct djs_dump_page *page =
		    dump_page_new(cpu, djs_ring_bytes, number * DJS_DUMP_PAGES, count);

		if (!page)
			return -ENOMEM;
		dump_pages[cpu * dump_pages_per_ring + number] = page;
		for (i = 0; i < page->count; i++)
			page->frames[i] = page_to_pfn(pages[page->first + i]);
		memcpy(page->magic, DJS_DUMP_MAGIC, sizeof(page->magic));
	}
	return 0;
}

static struct djs_dump_page **symbol_dump_pages;
static u32 symbol_dump_page_count;

/* The same for the table of symbols, `count` pages from `area` on, mapped by vmalloc. */
int djs_dump_symbols_add(char *area, unsigned long count)
{
	u32 number, i;

	symbol_dump_page_count = DIV_ROUND_UP(count, DJS_DUMP_PAGES);
	symbol_dump_pages = kcalloc(symbol_dump_page_count, sizeof(*symbol_dump_pages), GFP_KERNEL);
	if (!symbol_dump_pages)
		return -ENOMEM;
	for (number = 0; number < symbol_dump_page_count; number++) {
		struct djs_dump_page *page = dump_page_new(DJS_DUMP_SYMBOLS, count * PAGE_SIZE,
							   number * DJS_DUMP_PAGES, count);

		if (!page)
			return -ENOMEM;
		symbol_dump_pages[number] = page;
		for (i = 0; i < page->count; i++)
			page->frames[i] = vmalloc_to_pfn(area + (page->first + i) * PAGE_SIZE);
		memcpy(page->magic, DJS_DUMP_MAGIC, sizeof(page->magic));
	}
	return 0;
}

void djs_dump_symbols_exit(void)
{
	u32 number;

	for (number = 0; symbol_dump_pages && number < symbol_dump_page_count; number++)
		dump_page_free(symbol_dump_pages[number]);
	kfree(symbol_dump_pages);
	symbol_dump_pages = NULL;
}

void djs_dump_pages_exit(void)
{
	size_t i;

	for (i = 0; dump_pages && i < (size_t)nr_cpu_ids * dump_pages_per_ring; i++)
		dump_page_free(dump_pages[i]);
	kvfree(dump_pages);
	dump_pages = NULL;
}
