/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime inside a probed program (runtime/injected/), for threads that the test says there
 * are: one at a time runs, and another one may run wherever the runtime waits, or where a signal
 * may interrupt it.
 */
#ifndef DJSTAP_IN_PROGRAM_FOR_TEST_H
#define DJSTAP_IN_PROGRAM_FOR_TEST_H

#include "injected/injected.h"

#ifdef __cplusplus
extern "C" {
#endif
struct in_program_thread {
    u64 base;
    u64 distance; /* the base of its per-CPU memory */
    s32 tid;
};
extern struct in_program_thread* in_program_current;

/* Nanoseconds, which only the runtime's waiting and the test advance. */
extern u64 in_program_time;
/* Called where the runtime waits for others: when it yields, and in futex(2). */
extern void (*in_program_yields)(void);
extern void (*in_program_waits)(void);
/* Called where a signal interrupts the reservation of a record. */
extern void (*in_program_interrupted)(void);
/* Whether a process has a thread: 0 or -ESRCH. */
extern long (*in_program_has_thread)(s32 pid, s32 tid);
/* How many files it has open. */
extern int in_program_open_files;
extern int in_program_open_fails;

/* Called for each error that is reported. */
extern void (*in_program_reports)(struct djs_ctx* ctx);

/* Of runtime/injected, under names of their own. */
void* in_program_arena_allocate(u64 bytes);
void* in_program_percpu_alloc(u64 bytes);
int in_program_contexts_init(void);
struct djs_ctx* in_program_enter(const struct djs_handler* handler, const struct djs_site* site);
void in_program_leave(struct djs_ctx* ctx);
u64 in_program_lock_enter(const struct djs_handler* handler);
void in_program_lock_leave(const struct djs_handler* handler, u64 flags);
int in_program_rings_init(u64 bytes);
void in_program_ring(u32 cpu, u64** tail, char** data, u64* bytes);
const u64* in_program_ring_head(u32 cpu);
u32 in_program_make_room(u32 size);
struct djs_record* in_program_reserve(struct djs_ctx* ctx, u32 id, u32 size);
void in_program_commit(struct djs_ctx* ctx, struct djs_record* record, u32 size);
int in_program_read_memory(void* to, u64 from, size_t size);
int in_program_write_memory(u64 to, const void* from, size_t size);
s64 in_program_tz_gmtoff(struct djs_ctx* ctx);
void in_program_tz_name(struct djs_ctx* ctx, char* out);
void in_program_host_name(struct djs_ctx* ctx, char* out);
void in_program_execname(struct djs_ctx* ctx, char* out);
void in_program_pexecname(struct djs_ctx* ctx, char* out);
s64 in_program_addr(struct djs_ctx* ctx);
s64 in_program_long_arg(struct djs_ctx* ctx, s64 n);
u32 djs_slot_here(void);
bool djs_slot_nested(void);
u32 djs_slots_active(void);
void djs_loader_changed(void);

/* A slot's counts of what was not done. */
struct in_program_counts {
    u64 busy, locked, lost, oversized;
};
struct in_program_counts in_program_counts_of(u32 slot);
struct djs_ctx* in_program_contexts(u32 slot);
/* A holder of a lock that never releases it ends the patience with all others, until this. */
void in_program_be_patient(void);
/* All sessions' skipped hits so far are forgotten. */
void in_program_forget_skips(void);
/* The same for returns whose calls were not kept. */
void in_program_forget_calls(void);
/* Which of the sets of kept calls a frame's call is in. */
u64 in_program_set_of(u64 stack, u32 site);
#ifdef __cplusplus
}
#endif
#endif
