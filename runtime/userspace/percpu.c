// SPDX-License-Identifier: GPL-2.0-or-later
// Per-CPU memory: one area for each CPU, all of them contiguous. An address in CPU 0's area stands
// for all of them; the copy of CPU n is n areas further on, and its thread's base is that distance.
// Handlers thus use the same instructions as in the kernel.
#include <sys/mman.h>
#include <unistd.h>

#include "arch/runtime.h"
#include "cpu/cpu.h"

u32 djs_user_cpus;
__thread u32 djs_user_cpu;

static char *areas;
static u64 area_used;

int djs_user_init(u32 cpus)
{
	void *memory;

	if (!cpus || cpus > DJS_USER_CPUS_MAX)
		return -ENOMEM;
	memory = mmap(NULL, cpus * DJS_USER_PERCPU_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	areas = memory;
	area_used = DJS_USER_COUNTERS * sizeof(s64);
	djs_user_cpus = cpus;
	djs_user_be_cpu(0);
	return 0;
}

void djs_user_exit(void)
{
	if (areas)
		munmap(areas, djs_user_cpus * DJS_USER_PERCPU_BYTES);
	areas = NULL;
	djs_user_cpus = 0;
}

u32 djs_user_this_cpu(void)
{
	return djs_user_cpu;
}

void djs_user_be_cpu(u32 cpu)
{
	if (cpu == djs_user_cpu) /* a thread starts as CPU 0, with base 0 */
		return;
	djs_user_cpu = cpu;
	djs_set_percpu_base(cpu * DJS_USER_PERCPU_BYTES);
}

void *djs_user_percpu_alloc(u64 bytes)
{
	void *at = areas + area_used;

	bytes = ALIGN(bytes, 64ull);
	if (bytes > DJS_USER_PERCPU_BYTES - area_used)
		return NULL;
	area_used += bytes;
	return at;
}

/* The script's plain counters are at the beginning of each area. */
s64 *djs_user_counters(void)
{
	return (s64 *)areas;
}
