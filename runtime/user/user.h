/* SPDX-License-Identifier: GPL-2.0-or-later
 * The runtime in user space (djstap --runtime=user): one script in one process. The order of calls:
 *
 *   djs_user_init       the CPUs' memory; from here on djs_user_symbol() knows every address
 *   djs_user_load       the script's tables: its globals, locks, contexts and rings are made
 *   djs_session_start   begin probes run, timers are armed
 *   djs_user_run_due    again and again
 *   djs_session_stop    end probes run
 *   djs_user_unload
 *
 * All of it runs in one thread, which is CPU 0. More threads may call handlers (benchmarks do) once
 * each of them has said which CPU it is.
 */
#ifndef DJSTAP_USER_H
#define DJSTAP_USER_H

#include <sys/types.h>

#include "include/platform.h"

struct djs_script;
struct djs_counts;

#define DJS_USER_CPUS_MAX     64u
#define DJS_USER_PERCPU_BYTES (8ull << 20) /* of each CPU: what alloc_percpu and counters share */
#define DJS_USER_COUNTERS     512u
#define DJS_USER_HZ	      250u /* jiffies a second: what most kernels are built with */

#ifdef __cplusplus
extern "C" {
#endif

/* What a run is told from outside. */
struct djs_user_options {
	u64 ring_bytes; /* of each CPU: a power of two and a multiple of the page size */
	s32 target_pid; /* target() */
	/* Called with `data` by a CPU's own thread when its ring is full: takes records out. */
	void (*drain)(void *data);
	void *data;
};

/* Room for `cpus` CPUs; the calling thread is CPU 0. 0 or -ENOMEM. */
int djs_user_init(u32 cpus);
/* Gives everything back. */
void djs_user_exit(void);

/* Takes the tables of a script that was linked in, and makes all its memory. 0 or -ENOMEM:
 * djs_user_complaint() says for what. */
int djs_user_load(const struct djs_script *script, const struct djs_user_options *options);
void djs_user_unload(void);

/* Makes the calling thread a CPU: below what djs_user_init was given, and no other thread's. */
void djs_user_be_cpu(u32 cpu);

/* The address of something that a script's object may refer to: a function of the runtime, a
 * djs_fn_NAME of the language, a variable. NULL: user space has none of that name. */
void *djs_user_symbol(const char *name);

/* begin, end and error probes are run by these two (control/session.c). */
int djs_session_start(void);
void djs_session_stop(void);
/* 1: exit(), or more errors than MAXERRORS. */
int djs_user_exit_requested(void);
/* 1: more errors than MAXERRORS. */
int djs_user_failed(void);

/* When the next timer is due, by CLOCK_MONOTONIC in nanoseconds; UINT64_MAX: never. */
u64 djs_user_next_timer(void);
/* Runs the handlers of all timers that are due at `now`, each once however late it is. */
void djs_user_run_due(u64 now);

/* A CPU's ring: its shared page, which begins with the tail, and its data, mapped twice in a row.
 */
void djs_user_ring(u32 cpu, u64 **tail, char **data, u64 *bytes);
void djs_user_counts(struct djs_counts *counts);

/* The last message for whoever runs this process; "" when there was none. */
const char *djs_user_complaint(void);

/* ---- within the runtime ---- */
extern u32 djs_user_cpus;
extern __thread u32 djs_user_cpu;
extern struct djs_user_options djs_user_settings;
void *djs_user_percpu_alloc(u64 bytes);			   /* zeroed; NULL when the area is full */
int djs_user_read_memory(void *to, u64 from, size_t size); /* 0 or -EFAULT */
int djs_user_write_memory(u64 to, const void *from, size_t size);
void djs_user_complain(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
int djs_user_rings_init(u64 bytes);
void djs_user_rings_exit(void);

#ifdef __cplusplus
}
#endif
#endif
