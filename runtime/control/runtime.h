/* SPDX-License-Identifier: GPL-2.0-or-later
 * What the parts of the runtime share with each other and with nobody else. The contract with
 * scripts and readers is in include/.
 */
#ifndef DJSTAP_RUNTIME_H
#define DJSTAP_RUNTIME_H

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/kprobes.h>

#include "include/recorder.h"
#include "include/script.h"

#define djs_error(format, ...)	 pr_err("%s: " format "\n", THIS_MODULE->name, ##__VA_ARGS__)
#define djs_warning(format, ...) pr_warn("%s: " format "\n", THIS_MODULE->name, ##__VA_ARGS__)

/* ---- one CPU's own data: what the hot path reads, in one cache line -------------------------- */

struct djs_cpu {
	struct djs_ctx *contexts; /* DJS_LEVELS of them */
	u64 head;		  /* of the ring: bytes ever reserved */
	u64 limit;		  /* head may go so far: the tail as last seen + the ring's size */
	char *data;		  /* the ring, mapped twice in a row */
	u64 mask;		  /* its size - 1 */
	struct djs_ring_page *page; /* shared with the reader */
	u64 lost;
	u64 skipped_busy;
	u64 skipped_locked;
	u64 skipped_stack;
	u64 overwritten;   /* flight recorder: records that gave way to newer ones */
	u64 oversized;	   /* records that are longer than djs_record_limit() */
	u32 changing_part; /* flight recorder: 1 while djs_next_part works */
	s64 inside; /* calls into functions with return djprobes minus returns: may be negative */
};
DECLARE_PER_CPU(struct djs_cpu, djs_cpu);
/* All CPUs' values of one 64-bit field, added up. */
u64 djs_cpu_sum(size_t field_offset);
#define DJS_CPU_SUM(field) djs_cpu_sum(offsetof(struct djs_cpu, field))

#define DJS_LEVELS	  4 /* task, softirq, hardirq, NMI */
#define DJS_LEVEL_NMI	  3
#define DJS_LEVEL_SESSION 4

/* ---- record/ -------------------------------------------------------------------------------- */

extern u64 djs_ring_bytes;
int djs_rings_init(u64 bytes);
void djs_rings_exit(void);
/* The page that a reader finds at page `index` of CPU `cpu`'s part of the file; NULL: beyond it. */
struct page *djs_ring_page(unsigned int cpu, unsigned long index);
unsigned long djs_ring_pages(void); /* of a CPU's part: the tail's page and the data */
u64 djs_rings_lost(void);
u64 djs_rings_overwritten(void);
u64 djs_rings_oversized(void);

extern bool djs_overwrite; /* flight recorder: the oldest records give way */
/* The bytes of the longest record that a ring can ever have room for. */
static inline u64 djs_record_limit(void)
{
	return djs_overwrite ? DJS_PART_BYTES : djs_ring_bytes;
}
/* Counts a record that found no room. */
void djs_count_lost(u32 size);
bool djs_next_part(u32 size);
u64 djs_oldest_part(const struct djs_cpu *data);
int djs_dump_pages_init(unsigned long pages_of_a_ring);
int djs_dump_pages_add(unsigned int cpu, struct page **pages, unsigned long count);
void djs_dump_pages_exit(void);

/* Writes a record of one text (and one number, for DJS_RECORD_ERROR and DJS_RECORD_SPECULATION).
 * Any context. */
void djs_record_text(struct djs_ctx *ctx, u32 id, const char *text, s64 number);
void djs_record_number(struct djs_ctx *ctx, u32 id, s64 number);
void djs_record_plain(struct djs_ctx *ctx, u32 id);

/* Prints what no reader took to the kernel log, in the order of time, and drops it. */
void djs_rings_to_log(unsigned int max_lines);

/* ---- context/ ------------------------------------------------------------------------------- */

/* Handlers' flags that send djs_enter to its slow path: DJS_HANDLER_IRQS_OFF always,
 * DJS_HANDLER_CHECKS_STATE unless the session runs, DJS_HANDLER_MAY_LINGER after the session.
 */
extern u32 djs_gate;
static inline void djs_gate_add(u32 flags) /* any context */
{
	u32 old;

	do
		old = READ_ONCE(djs_gate);
	while (cmpxchg(&djs_gate, old, old | flags) != old);
}
extern struct djs_ctx djs_session_ctx; /* begin, end, error and the session's own messages */
extern atomic_t djs_locked_skips;
/* ctx->work: stack traces and symbol names; then the text that tokenize() works on; then
 * ctx->error_text. */
#define DJS_WORK_BYTES 2048
static inline u32 djs_error_bytes(void)
{
	return max_t(u32, djs_script.string_bytes, 256);
}
static inline size_t djs_work_bytes(void)
{
	return DJS_WORK_BYTES + ALIGN(djs_script.string_bytes, 64) + ALIGN(djs_error_bytes(), 64);
}
static inline void djs_work_init(struct djs_ctx *ctx, char *memory)
{
	ctx->work = memory;
	ctx->error_text = memory + DJS_WORK_BYTES + ALIGN(djs_script.string_bytes, 64);
}
#define DJS_NO_PLACE (~0u) /* an error whose place the caller knows, or nobody */
int djs_contexts_init(void);
void djs_contexts_exit(void);
/* With memory for itself alone, which kvfree(ctx->scratch) gives back. */
int djs_context_make(struct djs_ctx *ctx);

/* Has others use the CPU, with a handler's locks released meanwhile if it rests with others
 * (ctx->rests). A killed process's begin or end probe gets an error. */
void djs_rest(struct djs_ctx *ctx);

/* Handlers with DJS_HANDLER_IN_TASK (context/task.c). */
int djs_tasks_init(void);
void djs_tasks_exit(void);
/* What an interrupt starts: its site's handler, in a task. NULL: no memory. */
struct djs_job *djs_job_make(const struct djs_site *site);
/* Any context but an NMI. Counted as skipped while the handler runs, or waits, for an earlier one.
 */
void djs_job_start(struct djs_job *job);
/* Waits until it does not run any more. */
void djs_job_free(struct djs_job *job);
/* Runs such a handler in this task; `prepare` is called before its body. False: it may not run. */
bool djs_run_in_task(const struct djs_handler *handler, const struct djs_site *site,
		     void (*prepare)(struct djs_ctx *ctx, void *data), void *data);

/* Runs `body` for a hit that a mechanism other than the direct call caught. */
void djs_run_handler(const struct djs_handler *handler, const struct djs_site *site,
		     struct pt_regs *regs);

/* ---- globals/ ------------------------------------------------------------------------------- */

int djs_globals_init(void);
void djs_globals_exit(void);
/* Zeroed memory, for vfree. NULL rather than have other processes killed for it. */
void *djs_allocate(u64 bytes);
int djs_iterators_init(void);
void djs_iterators_exit(void);
/* A handler in a task ends, with its locks held: its walks do so, too. */
void djs_end_walks(void);
int djs_locks_init(void);
void djs_locks_exit(void);
/* All of a handler's locks, or none: false after max_trylock tries (in an NMI after one). */
bool djs_locks_take(const struct djs_handler *handler, bool nmi);
void djs_locks_release(const struct djs_handler *handler);

/* ---- control/ ------------------------------------------------------------------------------- */

extern struct djs_control_page *djs_control;
extern s32 djs_target_pid;
/* The process that has /proc/djstap-NAME open to run the session. No process, also not the idle
 * one, has DJS_NO_READER's number. */
#define DJS_NO_READER (-1)
extern s32 djs_reader_pid;
extern unsigned long djs_slide; /* run-time address = link-time address + this: the kernel's */
extern unsigned long *djs_anchor_slides; /* the same of each anchor whose module is there */
static inline unsigned long djs_site_slide(const struct djs_site *site)
{
	return site->anchor == DJS_NO_INDEX ? djs_slide : djs_anchor_slides[site->anchor];
}

#define DJS_CALL_BYTES 5 /* a near call's */

/* A site at run time. */
struct djs_site_run {
	const struct djs_site *site;
	u32 domain;	       /* 0: the kernel; else the module that it is in */
	unsigned long address; /* of the fentry site or the instruction */
	unsigned long probe;   /* where the probe stands: `address`, or the fallback's */
	u8 mechanism;	       /* enum djs_mechanism */
	u8 fallback;	       /* enum djs_fallback */
	u8 armed;
	u8 follows; /* it is some other site's `next` */
	u8 wanted;  /* by its condition: to be armed */
	u8 was_armed;
	u8 absent;   /* its module is not loaded: not wanted */
	u8 disarmed; /* it took too much time: not wanted */
	int error;
	struct djs_site_run *next; /* the next one at the same direct call */
	void *data;		   /* the mechanism's own */
	u64 missed;		   /* by kprobes that are gone */
};
extern struct djs_site_run *djs_sites;

static inline bool djs_is_direct(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_IS_DIRECT);
}

/* Makes djs_find_site know the sites whose addresses are known now. */
int djs_lookup_update(void);
void djs_lookup_exit(void);

int djs_modules_init(void);
void djs_modules_exit(void);
u32 djs_site_domain(const struct djs_site *site);
const char *djs_domain_name(u32 domain);
/* A module that is loaded and initialized, with a reference to it; NULL: it is not there. */
struct module *djs_module_get(u32 domain);
/* Sets the slides of a module's anchors. -ENOEXEC: another one of the same name. */
int djs_module_place(u32 domain, struct module *module);
void djs_sites_module_came(u32 domain, struct module *module);
void djs_sites_module_went(u32 domain);

/* Takes out the probes of a handler, or of the target `owner` - handler_count, which had a CPU for
 * `percent` of the time. */
void djs_sites_overload(u32 owner, u32 percent);
/* Around a handler that finds interrupts off, which the timer that samples cannot see: its time is
 * counted. False: it is not, because a handler is that it interrupted, or none is to be. */
bool djs_overload_begin(void);
void djs_overload_end(const struct djs_handler *handler);
void djs_overload_start(void);
void djs_overload_stop(void);

int djs_sites_init(void);
void djs_sites_exit(void);
/* Arms every site. Sites that fail are reported and counted; an error only when a forced one fails.
 */
int djs_sites_arm(void);
/* Arms and disarms what conditions now ask for. */
void djs_sites_rearm(void);
/* Takes all probes out; when it returns no handler runs and none can start. */
void djs_sites_disarm(void);
/* Where it lies and what is planned for it, once that can be told. */
void djs_site_place(struct djs_site_run *run);
void djs_site_failed(struct djs_site_run *run, int error, const char *why);
u64 djs_site_missed(const struct djs_site_run *run);
u32 djs_sites_failed_count(void);
/* While it is held no site is attached or detached. */
void djs_sites_lock(void);
void djs_sites_unlock(void);

/* Finds out what each condition is, and which sites are wanted by that. Task context. */
void djs_conditions_evaluate(void);
void djs_conditions_exit(void);

int djs_session_init(void);
void djs_session_exit(void);
int djs_session_start(void);
void djs_session_stop(void);
void djs_session_rearm(void);	  /* conditions have changed */
void djs_session_abandoned(void); /* the owner closed without stopping */
/* exit() or a fatal error: closes the gate and has the reader, or a work item, stop the session.
 * NMI-safe. */
void djs_request_exit(bool error);
/* A message of the session itself: a record, and a line in the kernel log. Task context. */
void djs_session_message(u32 id, const char *format, ...) __printf(2, 3);
/* The same, a fixed text, at any time. Task context. */
void djs_message_alone(const char *text);
/* Counts an error and reports it as a record; too many of them end the session. Any context. */
void djs_report_error(struct djs_ctx *ctx);
u32 djs_error_count(void);

int djs_proc_init(void);
void djs_proc_exit(void);
/* Whether this task has, in the initial user namespace, what opening the files of a script takes:
 * CAP_SYS_ADMIN, or CAP_PERFMON to read. */
bool djs_may_open(bool writes);
bool djs_reader_attached(void);
bool djs_reader_ever(void);
void djs_reader_wake(void);

/* kernel.ftrace_enabled: 1, 0, or negative when it cannot be read; -ENODEV: ftrace has shut itself
 * down. May sleep. */
int djs_ftrace_enabled(void);
/* Sets it; 0 or an error. May sleep. */
int djs_ftrace_enable(bool on);
/* Has the kernel refuse to set it to 0 until djs_ftrace_let_go; -EBUSY: it is 0. May sleep. */
int djs_ftrace_keep(void);
int djs_ftrace_let_go(void);

/* `count` probes could not be taken out: what they call stays as long as the kernel runs. Holds the
 * module. Task context. */
void djs_pin(u32 count, int error);
bool djs_pinned(void);
/* Says so in the kernel's log: once, when all have been tried. */
void djs_pin_report(void);
/* Before anything is freed: does not return where the kernel may still call something. */
void djs_pin_wait(void);

/* ---- the mechanisms, beside what control/mechanism.h asks of all ----------------------------- */

/* After djs_drain_handlers, which does not wait for who sleeps in a function that ever had a return
 * djprobe: waits up to two seconds for those. Where some go on sleeping it names them, closes the
 * way to return handlers, and keeps the module from being unloaded until they have returned. */
void djs_inside_drain(void);
/* However long it takes. Before anything is freed. */
void djs_inside_finish(void);
u64 djs_inside_count(void);

u64 djs_kprobes_missed(void);
/* A livepatch came: probes that stand behind fentry sites may have lost their functions. */
int djs_livepatch_init(void);
void djs_livepatch_exit(void);
void djs_livepatch_watch(void);
void djs_livepatch_ignore(void);
/* True when the kernel uses ftrace for a kprobe at run->probe. */
bool djs_at_fentry_site(const struct djs_site_run *run);
/* Enables or disables a registered kprobe as its site is wanted. */
struct kprobe;
void djs_kprobe_follow(struct kprobe *kprobe, const struct djs_site_run *run);
/* ftrace has shut itself down: what depends on it stays where it is. */
extern bool djs_ftrace_dead;
/* Whether a kprobe, or a kretprobe's, can be unregistered: it is disabled now. Else it stays
 * registered and the module is pinned. */
bool djs_kprobe_lets_go(struct kprobe *kprobe);
u64 djs_kretprobes_missed(void);
/* Removes the files that detaching left, because one's memory was long in coming. Before anything
 * is freed. */
void djs_procfs_finish(void);
u64 djs_procfs_calls(void); /* that read or write a file just now: each holds the module */

/* ---- access/ -------------------------------------------------------------------------------- */

void djs_access_init(void);
/* Reads one word of 1, 2, 4 or 8 bytes. False on a fault. Never sleeps. */
bool djs_read_word(u64 address, u32 size, u64 *value);
bool djs_write_word(u64 address, u32 size, u64 value);
/* Sets ctx->error: "cannot read a string of kernel memory at 0x…", or "… at NULL + 0x10". `user`:
 * whose memory the script means. djs_fail_word: of `size` bytes. */
void djs_fail_access(struct djs_ctx *ctx, const char *what, u64 address, bool user, u32 place);
void djs_fail_word(struct djs_ctx *ctx, const char *verb, u64 address, u32 size, bool user,
		   u32 place);
/* Copies a string of at most `size` bytes with the NUL it always writes; its length, or -EFAULT
 * when its first byte cannot be read. A fault further on ends the string. Never sleeps.
 */
long djs_read_kernel_string(char *out, u64 address, size_t size);
long djs_read_user_string(char *out, u64 address, size_t size);
/* Sets ctx->error to a message made at run time. */
void djs_fail_text(struct djs_ctx *ctx, u32 place, const char *format, ...) __printf(3, 4);
void djs_vfail_text(struct djs_ctx *ctx, u32 place, const char *format, va_list arguments)
    __printf(3, 0);

#endif
