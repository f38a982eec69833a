/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime in user space (djstap --runtime=user): one script in one process. The order of calls:
 *
 *   djs_user_init       allocates the CPUs' memory; from here on djs_user_symbol() knows every
 * address djs_user_load       takes the script's tables and allocates its globals, locks, contexts
 * and rings djs_session_start   runs begin probes, and arms timers djs_user_run_due    called
 * repeatedly djs_session_stop    runs end probes djs_user_unload
 *
 * All of it runs in one thread, which is CPU 0. More threads may call handlers (benchmarks do) once
 * each of them has called djs_user_be_cpu.
 */
#ifndef DJSTAP_USER_H
#define DJSTAP_USER_H

#include <sys/types.h>

#include "include/platform.h"

struct djs_script;
struct djs_counts;

#define DJS_USER_CPUS_MAX     64u
#define DJS_USER_PERCPU_BYTES (8ull << 20) /* of each CPU: shared by alloc_percpu and counters */
#define DJS_USER_COUNTERS     512u
#define DJS_USER_HZ	      250u /* jiffies per second: the value of most kernels */

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a run. */
struct djs_user_options {
	u64 ring_bytes; /* of each CPU: a power of two and a multiple of the page size */
	s32 traced_pid; /* target() */
	/* Called with `data` by a CPU's own thread when its ring is full: consumes records. */
	void (*drain)(void *data);
	void *data;
};

/* Allocates memory for `cpus` CPUs; the calling thread is CPU 0. Returns 0 or -ENOMEM. */
int djs_user_init(u32 cpus);
/* Frees everything. */
void djs_user_exit(void);

/* Takes the tables of a script that was linked, and allocates all its memory. Returns 0 or -ENOMEM:
 * djs_user_complaint() says for what. */
int djs_user_load(const struct djs_script *script, const struct djs_user_options *options);
void djs_user_unload(void);

/*
 * Makes the calling thread a CPU: its number is less than what djs_user_init was given, and no
 * other thread has it.
 */
void djs_user_be_cpu(u32 cpu);

/* Returns the address of something that a script's object may refer to: a function of the runtime,
 * a djs_fn_NAME of the language, a variable. NULL: user space has no such symbol. */
void *djs_user_symbol(const char *name);

/* These two run begin, end and error probes (control/session.c). */
int djs_session_start(void);
void djs_session_stop(void);
/* Returns 1 after exit(), or more errors than MAXERRORS. */
int djs_user_exit_requested(void);
/* Returns 1 after more errors than MAXERRORS. */
int djs_user_failed(void);

/* Returns the time of the next timer, by CLOCK_MONOTONIC in nanoseconds; UINT64_MAX: none. */
u64 djs_user_next_timer(void);
/* Runs the handlers of all timers that are due at `now`, each once however late it is. */
void djs_user_run_due(u64 now);

/* Runs one handler on this CPU, by its number in the script's table: for benchmarks. */
void djs_user_run_handler(u32 handler);
u32 djs_user_this_cpu(void);

/* Returns a CPU's ring: its shared page, which begins with the tail, and its data, mapped twice in
 * a row. */
void djs_user_ring(u32 cpu, u64 **tail, char **data, u64 *bytes);
/* Returns how far the CPU has reserved records. */
const u64 *djs_user_ring_head(u32 cpu);
void djs_user_counts(struct djs_counts *counts);

/* Returns the last message for the user of this process; "" if there was none. */
const char *djs_user_complaint(void);

/* The functions above that a session calls, as the object that holds them has them: this process's
 * own runtime, or one that is injected into a program (injected/injected.h). */
struct djs_user_calls {
	int (*load)(const struct djs_script *script, const struct djs_user_options *options);
	void (*unload)(void);
	int (*start)(void);
	void (*stop)(void);
	int (*exit_requested)(void);
	int (*failed)(void);
	u64 (*next_timer)(void);
	void (*run_due)(u64 now);
	void (*ring)(u32 cpu, u64 **tail, char **data, u64 *bytes);
	const u64 *(*ring_head)(u32 cpu);
	void (*counts)(struct djs_counts *counts);
	const char *(*complaint)(void);
};
extern const struct djs_user_calls djs_user_runtime;

/* ---- within the runtime ---- */
extern u32 djs_user_cpus;
#ifdef DJS_INJECTED
u32 djs_slot_here(void);
#define djs_user_cpu djs_slot_here()
#else
extern __thread u32 djs_user_cpu;
#endif
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
