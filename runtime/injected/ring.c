// SPDX-License-Identifier: GPL-2.0-or-later
// One ring for each slot, like the kernel's for each CPU (record/ring.c): the same records and the
// same protocol, for the same reader. A signal's handler may write a record in the middle of
// another one.
#include "arch/runtime.h"
#include "injected/internal.h"
#include "record/rings.h"
#include "userspace/kernel.h"

struct djs_cpu djs_cpu[DJS_USER_CPUS_MAX];
u64 djs_ring_bytes;
bool djs_overwrite;

/* djstap has mapped the data twice in a row. */
int djs_user_rings_init(u64 bytes)
{
	u32 i;

	djs_ring_bytes = bytes;
	for (i = 0; i < djs_user_cpus; i++) {
		struct djs_cpu *cpu = &djs_cpu[i];
		char *ring = djs_arena_parts()->rings + i * (PAGE_SIZE + 2 * bytes);

		cpu->page = (struct djs_ring_page *)ring;
		cpu->data = ring + PAGE_SIZE;
		cpu->mask = bytes - 1;
		cpu->limit = bytes;
	}
	return 0;
}

void djs_user_rings_exit(void)
{
}

void djs_user_ring(u32 cpu, u64 **tail, char **data, u64 *bytes)
{
	*tail = &djs_cpu[cpu].page->tail;
	*data = djs_cpu[cpu].data;
	*bytes = djs_ring_bytes;
}

u64 djs_cpu_sum(size_t field_offset)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < djs_user_cpus; i++)
		sum += READ_ONCE(*(u64 *)((char *)&djs_cpu[i] + field_offset));
	return sum;
}

void djs_count_lost(u32 size)
{
	struct djs_cpu *cpu = &djs_cpu[djs_user_cpu];

	if (size > djs_record_limit())
		cpu->oversized++;
	else
		cpu->lost++;
}

/* The reader's tail only ever grows; whoever stores an older limit here has interrupted nobody. */
static noinline bool more_room(struct djs_cpu *cpu, u32 size)
{
	u64 tail;

	if (size > djs_record_limit())
		return false;
	/* Only djstap itself runs on the first slot: begin, end and timer probes. */
	if (cpu == djs_cpu && djs_user_settings.drain)
		djs_user_settings.drain(djs_user_settings.data);
	tail = smp_load_acquire(&cpu->page->tail);
	WRITE_ONCE(cpu->limit, tail + djs_ring_bytes);
	return READ_ONCE(cpu->head) + size <= tail + djs_ring_bytes;
}

struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size)
{
	struct djs_cpu *cpu = &djs_cpu[djs_user_cpu];
	struct djs_record *record;
	u64 head, time;

	do {
		head = READ_ONCE(cpu->head);
		if (unlikely(head + size > READ_ONCE(cpu->limit)) && !more_room(cpu, size)) {
			djs_count_lost(size);
			return NULL;
		}
		time = djs_cycles();
	} while (unlikely(!djs_exchange_here(&cpu->head, head, head + size)));
	record = (struct djs_record *)(cpu->data + (head & cpu->mask));
	record->id = id;
	WRITE_ONCE(record->time, time); /* from here on the reader waits for the size */
	ctx->reserved = size;
	return record;
}

void djs_commit(struct djs_ctx *ctx, struct djs_record *record, u32 size)
{
	(void)size;
	smp_store_release(&record->size, ctx->reserved);
}
