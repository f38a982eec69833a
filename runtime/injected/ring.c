// SPDX-License-Identifier: GPL-2.0-or-later
// One ring for each slot, like the kernel's for each CPU (record/ring.c): the same records and the
// same protocol, for the same reader. A signal's handler may write a record in the middle of
// another one.
#include "arch/runtime.h"
#include "injected/internal.h"
#include "record/rings.h"
#include "userspace/kernel.h"

/* djstap has mapped the data twice in a row. */
int djs_user_rings_init(u64 bytes)
{
	u32 i;

	djs_ring_bytes = bytes;
	for (i = 0; i < djs_user_cpus; i++) {
		struct djs_thread_slot *slot = djs_slot_of(i);
		char *ring = djs_arena_parts()->rings + i * (PAGE_SIZE + 2 * bytes);

		djs_cpu[i].page = (struct djs_ring_page *)ring;
		slot->data = ring + PAGE_SIZE;
		slot->mask = bytes - 1;
		slot->limit = bytes;
	}
	return 0;
}

void djs_user_rings_exit(void)
{
}

void djs_user_ring(u32 cpu, u64 **tail, char **data, u64 *bytes)
{
	*tail = &djs_cpu[cpu].page->tail;
	*data = djs_slot_of(cpu)->data;
	*bytes = djs_ring_bytes;
}

const u64 *djs_user_ring_head(u32 cpu)
{
	return &djs_slot_of(cpu)->head;
}

/* The reader's tail only ever grows; whoever stores an older limit here has interrupted nobody. */
static noinline bool more_room(struct djs_thread_slot *slot, u32 size)
{
	u64 tail;

	if (size > djs_record_limit())
		return false;
	/* Only djstap itself runs on the first slot: begin, end and timer probes. */
	if (!slot->number && djs_user_settings.drain)
		djs_user_settings.drain(djs_user_settings.data);
	tail = smp_load_acquire(&djs_cpu[slot->number].page->tail);
	WRITE_ONCE(slot->limit, tail + djs_ring_bytes);
	return READ_ONCE(slot->head) + size <= tail + djs_ring_bytes;
}

u32 djs_make_room(u32 size)
{
	if (more_room(djs_slot_of_thread(), size))
		return 1;
	djs_count_lost(size);
	return 0;
}

struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size)
{
	struct djs_thread_slot *slot = djs_slot_of_thread();
	struct djs_record *record;
	u64 head, time;

	do {
		head = READ_ONCE(slot->head);
		if (unlikely(head + size > READ_ONCE(slot->limit)) && !more_room(slot, size)) {
			djs_count_lost(size);
			return NULL;
		}
		time = djs_cycles();
	} while (unlikely(!djs_exchange_here(&slot->head, head, head + size)));
	record = (struct djs_record *)(slot->data + (head & slot->mask));
	/* The first store: if it faults, a signal's handler may leave it out, too. */
	WRITE_ONCE(record->size, size | DJS_RECORD_IN_FLIGHT);
	record->id = id;
	WRITE_ONCE(record->time, time); /* from here on the reader waits for the record */
	ctx->reserved = size;
	return record;
}
