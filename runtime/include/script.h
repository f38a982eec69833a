/* SPDX-License-Identifier: GPL-2.0-or-later
 * The contract between a script's object (made by compiler/codegen) and the runtime (built by
 * Kbuild once for a kernel): what the fields of its tables (contract.def) may hold, what a handler
 * sees, and what it calls. The object defines `djs_script`; everything else is reached from there.
 */
#ifndef DJSTAP_SCRIPT_H
#define DJSTAP_SCRIPT_H

#include "include/contract.h"
#include "include/control.h"
#include "include/map.h"
#include "include/mechanisms.h"
#include "include/record.h"
#include "include/statistic.h"

struct task_struct;

/* Why a site does not have the mechanism that was planned. */
enum djs_fallback {
	DJS_FALLBACK_NONE = 0,
	DJS_FALLBACK_BUSY, /* another direct user (BPF, livepatch, another script) has the function
			    */
	DJS_FALLBACK_FTRACE_OFF, /* kernel.ftrace_enabled is 0 */
	DJS_FALLBACK_TABLE_FULL, /* the kernel's table of direct calls */
};

enum djs_handler_kind {
	DJS_HANDLER_BEGIN = 0,
	DJS_HANDLER_END,
	DJS_HANDLER_ERROR, /* runs instead of end probes after an error */
	DJS_HANDLER_TIMER,
	DJS_HANDLER_ENTRY, /* at a function's entry or any instruction: pt_regs, or a direct call's
			      registers */
	DJS_HANDLER_RETURN,
	DJS_HANDLER_CONDITION, /* yields a probe's condition in ctx->return_value */
};

#define DJS_HANDLER_CHECKS_STATE                                                                   \
	1u			/* runs only while the session runs (it prints, fails or exits) */
#define DJS_HANDLER_IRQS_OFF 2u /* holds locks: interrupts stay off */
/* A return handler: a task that sleeps in the function may come back when the session is over. */
#define DJS_HANDLER_MAY_LINGER 4u
/* Walks over a large array, and what it asks for can be had in a task, too: it runs in one, and
 * lets go of its locks now and then (globals/foreach.c). */
#define DJS_HANDLER_IN_TASK 8u

/* DJS_PERF_HOW */
enum djs_perf_how {
	DJS_PERF_BY_COUNT = 0,
	DJS_PERF_BY_FREQUENCY = 1,
	DJS_PERF_COUNTER = 2, /* + its number: no handler runs, @perf reads it */
};
#define DJS_MOST_PERF_COUNTERS 64

#define DJS_AIM_WORDS 2 /* of djs_target.aim */
/* Where djs_target.dispatch leads before it is aimed. */
void djs_not_aimed(void);

#define DJS_NO_INDEX (~0u)

#ifdef __KERNEL__
extern const struct djs_script djs_script;
#else
extern struct djs_script djs_script; /* runtime/user: a copy of the one that is linked in */
#endif

/* ---- what a handler sees ----------------------------------------------------------------------
 */

/* djs_ctx.busy: in use, with locks held (and interrupts off) or without. Apart from all
 * DJS_HANDLER_* flags: djs_enter looks at both at once. */
#define DJS_BUSY_UNLOCKED 0x10u
#define DJS_BUSY_LOCKED	  0x20u
#define DJS_BUSY_TIMED	  0x40u /* also: the handler counts its own time (context/overload.c) */

/* What a handler can do about work that takes long. */
enum djs_rests {
	DJS_RESTS_NEVER = 0, /* it keeps its locks, and interrupts or preemption off: nothing */
	DJS_RESTS_ALONE,     /* no other handler runs: it can have others use the CPU */
	DJS_RESTS_SHARED     /* the same, and lets go of its locks meanwhile */
};

struct djs_ctx {
	const char
	    *error; /* NULL: none; else its message, which ends the handler (or enters a catch) */
	u32 error_place;      /* index of djs_script.places */
	u32 level;	      /* 0 task, 1 softirq, 2 hardirq, 3 NMI, 4 session (begin, end) */
	s32 actions;	      /* left of MAXACTION */
	u32 nesting;	      /* calls of script functions that are active; set with `actions` */
	struct pt_regs *regs; /* NULL where there are none */
	const struct djs_site *site;
	const struct djs_handler *handler;
	u64 *saved;    /* values of the entry, for return probes */
	char *scratch; /* script.scratch_bytes, 8-byte aligned */
	u64 irq_flags;
	u64 return_value; /* return probes */
	u64 address;	  /* run-time address of the probed instruction or function */
	u32 can_wait;	  /* begin and end: may sleep for room in the ring */
	u32 rests;	  /* enum djs_rests */
	s32 more_actions; /* begin and end: left of MAXACTION when `actions` are spent */
	struct task_struct
	    *task;     /* whom it interrupted that this runs for; NULL: the current one */
	u32 cpu;       /* where that was */
	u32 user_regs; /* regs are those of user space */
	u32 locks_held;
	u32 busy;	   /* 0: free; else DJS_BUSY_* */
	char *error_text;  /* djs_error_bytes(), for messages made at run time */
	u32 reserved;	   /* bytes of the record between reserve and commit */
	char *work;	   /* DJS_WORK_BYTES for the runtime's own functions */
	u32 token_at;	   /* tokenize(): where the next word begins in its text, behind `work` */
	char *file_text;   /* procfs: what is read or was written */
	u32 file_bytes;	   /* room for it, with its end */
	u32 next_overload; /* embedded C: STAP_NEXT hands the call on */
	u32 aborted;	   /* the error is abort(): not caught, not told */
	u32 walked;	   /* elements that this run of a handler sorted or looked at */
	u32 returned;	   /* regs are those of the return: the arguments are gone */
};

#ifdef __cplusplus
extern "C" {
#endif
/*
 * For direct handlers. djs_enter takes this CPU's context of the current level, with preemption off
 * (and interrupts, where the handler holds locks), and the handler's locks. NULL: skipped, and
 * counted.
 */
struct djs_ctx *djs_enter(const struct djs_handler *handler, const struct djs_site *site);
void djs_leave(struct djs_ctx *ctx);
/* For handlers without a context that hold locks: takes them, interrupts off, unless the handler
 * has to leave or they are not to be had (counted): 0. Else what djs_lock_leave gives the processor
 * back. */
/* The most that a handler may need of a stack, MINSTACKSPACE included. */
#define DJS_STACK_MAX 8192u

/* 1, and a skipped hit is counted, where less than `bytes` are left of the stack. */
u32 djs_lacks_stack(u32 bytes);
u64 djs_lock_enter(const struct djs_handler *handler);
void djs_lock_leave(const struct djs_handler *handler, u64 flags);
/* Reports an error of a handler without a context, when it holds no lock any more. */
void djs_fail_alone(const char *message, u32 place);
/* The site of `handler` whose call returns to `return_address`. Never NULL for an attached one,
 * unless a livepatch or a kprobe replaces its function. */
const struct djs_site *djs_find_site(const struct djs_handler *handler, u64 return_address);

/* Room for a record of `size` bytes (header included, multiple of 8) on this CPU, or NULL: counted
 * as lost. Between reserve and commit preemption is off. The caller fills all but `size`. */
struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size);
void djs_commit(struct djs_ctx *ctx, struct djs_record *record, u32 size);

/* For handlers that reserve by themselves (codegen/lean.cpp). djs_make_room: 1 when, by the
 * reader's tail, a record of `size` bytes fits this CPU's ring now; 0: counted as lost.
 * djs_reschedule: after preemption was turned on by hand and found due. */
u32 djs_make_room(u32 size);
void djs_reschedule(void);

/* $value of a procfs probe; elsewhere there is none, and nothing happens. */
void djs_file_set(struct djs_ctx *ctx, const char *text);
void djs_file_append(struct djs_ctx *ctx, const char *text);
const char *djs_file_get(struct djs_ctx *ctx);

/* kernel_string(), which texts of target variables ($x$) use, too. */
void djs_fn_kernel_string(struct djs_ctx *ctx, char *out, s64 address);
void djs_fn_user_string(struct djs_ctx *ctx, char *out, s64 address);

/* A handler has made some condition different from its state: sites are to be armed or disarmed,
 * soon, by a task. Any context. */
void djs_conditions_changed(void);

/* Sets ctx->error, unless one is set. */
void djs_fail(struct djs_ctx *ctx, const char *message, u32 place);

/* Reads `size` (1, 2, 4, 8) bytes; user memory when the address is below the kernel's half. On a
 * fault sets ctx->error and yields 0. Zero-extended. */
u64 djs_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
/* Of user space alone: an address of the kernel is an error. */
u64 djs_load_user(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
void djs_store(struct djs_ctx *ctx, u64 address, u32 size, u64 value, u32 place);
/* The same for `size` bytes, which are copied to `out`. */
void djs_copy_memory(struct djs_ctx *ctx, char *out, u64 address, u64 size, u32 place);

/* How far a walk over an array goes without a rest. */
struct djs_pace {
	u32 walked;  /* elements since the last one */
	u32 at_once; /* so many may be */
	u32 rests;   /* it has one now and then */
};
/* A foreach that is under way. */
struct djs_iterator; /* globals/foreach.c */
struct djs_foreach {
	struct djs_iterator *iterator;
	const union djs_value *slice;
	struct djs_map_walk walk;
	s64 left; /* of the limit */
	struct djs_pace pace;
	s32 actions; /* left when it rested last */
	u32 place;
	u32 serial; /* that of the iterator is another one when it began again since */
	u32 plain;  /* just the next element, while nothing changes */
};
/* An error is in ctx->error. `limit` < 0: all. `slice` is read as long as the foreach goes on. */
void djs_foreach_begin(struct djs_ctx *ctx, struct djs_foreach *foreach,
		       struct djs_iterator *iterator, const union djs_value *slice, s64 limit,
		       u32 place);
/* The number of the next element; 0: there is none, or an error. Those that were removed since the
 * beginning are passed over. */
u32 djs_foreach_next(struct djs_ctx *ctx, struct djs_foreach *foreach);
/* delete a[x, *] and [x, *] in a; `map`: its number. */
void djs_erase_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys, u32 fixed,
		     u32 place);
u32 djs_has_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys, u32 fixed, u32 place);
/* Called where ctx->actions are spent. 1: there are more. */
u32 djs_more_actions(struct djs_ctx *ctx);

/* How many elements are sorted, and walked over, while interrupts are off: more is an error. */
#define DJS_SORTED_AT_ONCE	 16384u
#define DJS_TEXTS_SORTED_AT_ONCE 4096u
#define DJS_WALKED_AT_ONCE	 524288u /* by all walks of a handler's run together, too */
#define DJS_SLICED_AT_ONCE	 131072u
#define DJS_TEXTS_SLICED_AT_ONCE 16384u
/* A limit up to which the best are selected from all that may be walked over. */
#define DJS_SELECTED_AT_ONCE 256u

/* By segment: run-time address = link-time address + this. 0: its module is not loaded. */
extern unsigned long *djs_biases;

/* Totals of per-CPU storage; exact when no writer runs. */
s64 djs_counter_read(u32 counter);
/* @perf: what this CPU's event of perf.….counter has counted. Callable in any context. */
s64 djs_perf_read(u32 counter);
void djs_counter_clear(u32 counter);
/* <<< on a per-CPU statistic: on this CPU's copy, whole even when interrupted. */
void djs_statistic_record(u32 statistic, s64 value);
void djs_statistic_read(u32 statistic, struct djs_statistic *out); /* out: shape.bytes */
void djs_statistic_clear(u32 statistic);
#ifdef __cplusplus
}
#endif

#endif
