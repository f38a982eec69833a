// SPDX-License-Identifier: GPL-2.0-or-later
// One ring per CPU, like the kernel's (record/ring.c): the same records and the same protocol, for
// the same reader. The reader is this very thread: it empties a ring when it is full.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "arch/runtime.h"
#include "record/rings.h"

static int map_ring(struct djs_cpu *cpu)
{
	char *mapping;
	int file = memfd_create("djstap-ring", MFD_CLOEXEC);

	if (file < 0)
		return -ENOMEM;
	mapping = ftruncate(file, (off_t)(PAGE_SIZE + djs_ring_bytes))
		      ? MAP_FAILED
		      : mmap(NULL, PAGE_SIZE + 2 * djs_ring_bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED, file, 0);
	if (mapping == MAP_FAILED ||
	    mmap(mapping + PAGE_SIZE + djs_ring_bytes, djs_ring_bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, file, PAGE_SIZE) == MAP_FAILED) {
		if (mapping != MAP_FAILED)
			munmap(mapping, PAGE_SIZE + 2 * djs_ring_bytes);
		close(file);
		return -ENOMEM;
	}
	close(file);
	cpu->page = (struct djs_ring_page *)mapping;
	cpu->data = mapping + PAGE_SIZE;
	cpu->mask = djs_ring_bytes - 1;
	cpu->limit = djs_ring_bytes;
	return 0;
}

int djs_user_rings_init(u64 bytes)
{
	u32 i;

	djs_ring_bytes = bytes;
	memset(djs_cpu, 0, sizeof(djs_cpu));
	for (i = 0; i < djs_user_cpus; i++)
		if (map_ring(&djs_cpu[i])) {
			djs_user_rings_exit();
			return -ENOMEM;
		}
	return 0;
}

void djs_user_rings_exit(void)
{
	u32 i;

	for (i = 0; i < djs_user_cpus; i++) {
		if (djs_cpu[i].page)
			munmap(djs_cpu[i].page, PAGE_SIZE + 2 * djs_ring_bytes);
		djs_cpu[i].page = NULL;
	}
}

void djs_user_ring(u32 cpu, u64 **tail, char **data, u64 *bytes)
{
	*tail = &djs_cpu[cpu].page->tail;
	*data = djs_cpu[cpu].data;
	*bytes = djs_ring_bytes;
}

const u64 *djs_user_ring_head(u32 cpu)
{
	return &djs_cpu[cpu].head;
}

static bool has_room(struct djs_cpu *cpu, u32 size)
{
	if (cpu->head + size > cpu->limit)
		cpu->limit = smp_load_acquire(&cpu->page->tail) + djs_ring_bytes;
	return cpu->head + size <= cpu->limit;
}

struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size)
{
	struct djs_cpu *cpu = &djs_cpu[djs_user_cpu];
	struct djs_record *record;

	if (unlikely(!has_room(cpu, size)) && djs_user_settings.drain)
		djs_user_settings.drain(djs_user_settings.data);
	if (unlikely(!has_room(cpu, size))) {
		djs_count_lost(size);
		return NULL;
	}
	record = (struct djs_record *)(cpu->data + (cpu->head & cpu->mask));
	record->id = id;
	record->time = djs_cycles();
	cpu->head += size;
	ctx->reserved = size;
	return record;
}
