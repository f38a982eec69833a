/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records in per-CPU rings, and their reader. */
#ifndef DJSTAP_RINGS_H
#define DJSTAP_RINGS_H

#include "cpu/cpu.h"
#include "include/recorder.h"

extern u64 djs_ring_bytes;
int djs_rings_init(u64 bytes);
void djs_rings_exit(void);
/* Returns the page for page `index` of CPU `cpu`'s part of the file; NULL: beyond the end. */
struct page *djs_ring_page(unsigned int cpu, unsigned long index);
unsigned long djs_ring_pages(void); /* of a CPU's part: the tail's page and the data */
u64 djs_rings_lost(void);
u64 djs_rings_overwritten(void);
u64 djs_rings_oversized(void);

extern bool djs_overwrite; /* flight recorder: new records replace the oldest */
/* Returns the size of the longest record that a ring can hold. */
static inline u64 djs_record_limit(void)
{
	return djs_overwrite ? DJS_PART_BYTES : djs_ring_bytes;
}
/* djs_commit (script.h) without a call, for sources that may be compiled apart from its own. */
static __always_inline void djs_commit_here(struct djs_ctx *ctx, struct djs_record *record)
{
	smp_store_release(&record->size, ctx->reserved);
	if (unlikely(ctx->can_wait))
		preempt_enable_notrace();
}
/* Counts a record that did not fit. */
void djs_count_lost(u32 size);
bool djs_next_part(u32 size);
u64 djs_oldest_part(const struct djs_cpu *data);
extern struct djs_clock djs_load_time; /* taken when the module was loaded */
void djs_clock_read(struct djs_clock *clock);
int djs_dump_pages_init(unsigned long pages_of_a_ring);
int djs_dump_pages_add(unsigned int cpu, struct page **pages, unsigned long count);
void djs_dump_pages_exit(void);
int djs_dump_symbols_add(char *area, unsigned long count);
void djs_dump_symbols_exit(void);

/* Writes a record of one string (and one number, for DJS_RECORD_ERROR and DJS_RECORD_SPECULATION).
 * Any context. Returns false if it is lost, which is counted. */
bool djs_record_text(struct djs_ctx *ctx, u32 id, const char *text, s64 number);
void djs_record_number(struct djs_ctx *ctx, u32 id, s64 number);
void djs_record_plain(struct djs_ctx *ctx, u32 id);

/* Prints what no reader consumed to the kernel log, in the order of time, and drops it. */
void djs_rings_to_log(unsigned int max_lines);

/* ---- readers -------------------------------------------------------------------------------- */

/* The process that has /proc/djstap-NAME open to run the session. DJS_NO_READER is the number of no
 * process, including the idle one. */
#define DJS_NO_READER (-1)
extern s32 djs_reader_pid;
/* Makes this task the owner of the session; false: there is another owner. */
bool djs_reader_comes(void);
void djs_reader_goes(void);
bool djs_reader_attached(void);
bool djs_reader_ever(void);
/* Tasks that wait for the control page to change. */
extern struct wait_queue_head djs_reader_queue;
void djs_reader_wake(void);
/* True if this task has the capability in the initial user namespace that opening a script's files
 * requires: CAP_SYS_ADMIN, or CAP_PERFMON for reading. */
bool djs_may_open(bool writes);

#endif
