// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates CPUs as threads: their memory, their interrupts, and the parts of the runtime that
// tests call.
#pragma once
#include "include/recorder.h"
#include "include/script.h"
#include "include/statistic.h"

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

#define CPUS_MAX 4u
#define LEVEL_TASK 0u
#define LEVEL_INTERRUPT 2u
#define LEVEL_NMI 3u
#define LEVELS 4u

// Creates a session of djs_script for this many CPUs. Returns 0 or an error.
int cpus_begin(u32 count, u64 ring_bytes, bool overwrite);
void cpus_end(void);

// The calling thread is CPU `cpu` from here on. Interrupts call `interrupt` with their level; NULL:
// there are none.
void cpu_be(u32 cpu, void (*interrupt)(u32 level));
// An interrupt, or an NMI, may arrive here. Not a memory barrier.
void cpu_instruction(void);
u32 cpu_number(void);
u32 cpu_level(void);
bool cpu_interrupts(void);
void cpu_set_interrupts(bool on);
// Returns the next number of this CPU's own sequence.
u64 cpu_random(void);

// Returns a CPU's ring as its reader maps it.
struct djs_ring_page* cpus_ring(u32 cpu, char** data);
u64 cpus_lost(void);
u64 cpus_oversized(void);
u64 cpus_overwritten(void);
u64 cpus_skipped_locked(void);
u64 cpus_skipped_busy(void);
// What handlers do with inline code, on this CPU's copy of a per-CPU variable.
void cpu_count(s64* counter, s64 by);
void cpu_add_inline(struct djs_statistic* copies, s64 value);
struct djs_record* cpu_reserve_inline(u32 id, u32 size);
// The context of begin and end probes, whose records wait for room.
struct djs_ctx* cpus_session_context(void);
// For all CPUs, before or after they run.
void* cpus_percpu_alloc(u64 bytes);

// ---- for kernel/kernel.h
struct page;
u64 cpus_distance(u32 cpu);
struct page* cpus_page_alloc(void);
void cpus_page_free(struct page* page);
void* cpus_map(struct page** pages, u64 count);
void cpus_unmap(void* mapping);

#ifdef __cplusplus
}
#endif
