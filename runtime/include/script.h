/* SPDX-License-Identifier: GPL-2.0-or-later
 * The contract between a script's object (made by compiler/codegen) and the runtime (built by
 * Kbuild once for a kernel). The object defines `djs_script`; everything else is reached from
 * there. All tables are constant.
 */
#ifndef DJSTAP_SCRIPT_H
#define DJSTAP_SCRIPT_H

#include "include/platform.h"
#include "include/control.h"
#include "include/map.h"
#include "include/mechanisms.h"
#include "include/record.h"
#include "include/statistic.h"

struct pt_regs;
struct task_struct;
struct djs_ctx;

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

/* A lock taken for a handler's body; sorted by `lock` so that no two handlers can wait for each
 * other. */
struct djs_lock_use {
	u32 lock; /* index: 0 … djs_script.lock_count - 1 */
	u32 write;
};

#define DJS_HANDLER_CHECKS_STATE                                                                   \
	1u			/* runs only while the session runs (it prints, fails or exits) */
#define DJS_HANDLER_IRQS_OFF 2u /* holds locks: interrupts stay off */
/* A return handler: a task that sleeps in the function may come back when the session is over. */
#define DJS_HANDLER_MAY_LINGER 4u
/* Walks over a large array, and what it asks for can be had in a task, too: it runs in one, and
 * lets go of its locks now and then (globals/foreach.c). */
#define DJS_HANDLER_IN_TASK 8u

/* What djs_handler.arguments mean. */
enum djs_argument {
	/* A perf event fires after timer_ns units, or timer_ns times a second. */
	DJS_PERF_TYPE = 0,
	DJS_PERF_CONFIG,
	DJS_PERF_HOW, /* one of the following */
	/* A file's name is its site's function. */
	DJS_PROCFS_WRITES = 0,
	DJS_PROCFS_UMASK,
	DJS_PROCFS_BYTES, /* of its text; 0: as any string */
	DJS_NETFILTER_FAMILY = 0,
	DJS_NETFILTER_HOOK,
	DJS_NETFILTER_PRIORITY, /* signed */
};
/* DJS_PERF_HOW */
enum djs_perf_how {
	DJS_PERF_BY_COUNT = 0,
	DJS_PERF_BY_FREQUENCY = 1,
	DJS_PERF_COUNTER = 2, /* + its number: no handler runs, @perf reads it */
};
#define DJS_MOST_PERF_COUNTERS 64

struct djs_handler {
	/* For every mechanism but direct calls: called between djs_enter and djs_leave with
	 * ctx->regs, ctx->site set. */
	void (*body)(struct djs_ctx *ctx);
	/* Return probes that need values of the entry: called at the entry, stores them in
	 * ctx->saved. */
	void (*entry)(struct djs_ctx *ctx);
	/* The tracepoint's own callback: (data, the tracepoint's arguments …); data is the site.
	 * NULL where no site of it is one. */
	void (*tracepoint)(void);
	/* Forms of a body that needs no context (counters, records of numbers), as the kernel calls
	 * them: by a kprobe or kretprobe (its first argument is not used), or by a timer, with
	 * NULLs; and by an ftrace_ops that saves the argument registers. NULL: there is none, and
	 * `body` is for all. */
	int (*by_regs)(void *, struct pt_regs *);
	void (*by_ftrace)(void);
	const struct djs_lock_use *locks;
	u32 lock_count;
	u32 kind;	     /* enum djs_handler_kind */
	u32 flags;	     /* DJS_HANDLER_* */
	u32 saved;	     /* words that `entry` stores */
	u32 max_actions;     /* MAXACTION for this kind of probe */
	s32 priority;	     /* begin, end: order of running, lowest first; ties as in the table */
	u64 timer_ns;	     /* DJS_HANDLER_TIMER: period */
	u64 timer_random_ns; /* … plus or minus this much */
	u64 arguments[3];    /* of the mechanism: enum djs_argument */
	u32 condition;	     /* 0: none; N: its sites are armed while condition N - 1 holds */
	u32 stack;	     /* bytes that must be left of a stack for it; 0: not asked */
	/* The probe point as the script has it, or its alias: for messages about the handler, whose
	 * sites may be thousands. NULL: it has none. */
	const char *written;
};

#define DJS_AIM_WORDS 2 /* of djs_target.aim */
/* Where djs_target.dispatch leads before it is aimed. */
void djs_not_aimed(void);

/* A direct call's target: runs the handlers of all sites that have it, in their order. A function
 * can have one direct call only. */
struct djs_target {
	/* Preserves every register, and returns to where the function goes on. One with return
	 * handlers calls the function from there instead, and returns to the function's caller;
	 * meanwhile it is counted in djs_cpu.inside. */
	void (*direct)(void);
	/* Return handlers and several functions: what such a target calls, to go on in the function
	 * that it was called from. */
	void (*dispatch)(void);
	/* Return handlers and a function of a module: `dispatch` is the trampoline of a static call
	 * (behind an endbr64 where the kernel has IBT) that is aimed at the function when it is
	 * there. DJS_AIM_WORDS words for the key. */
	void *aim;
	/* 1: it asks which of its functions called it, by where it returns to. That is not told
	 * where a livepatch sends the caller on. */
	u32 by_address;
};

#define DJS_NO_INDEX (~0u)

struct djs_site {
	u64 address; /* link-time address: the fentry site, or the instruction that is probed */
	u64 entry;   /* link-time address of the function's symbol */
	/* Link-time address; djprobe: the instruction after the fentry site, for a kprobe;
	 * return-djprobe: the fentry site, for a kretprobe. 0: none may stand in. */
	u64 fallback;
	u32 handler;  /* index */
	u32 target;   /* (return) djprobe: index; else DJS_NO_INDEX */
	u32 next;     /* (return) djprobe: the next site at the same direct call, or DJS_NO_INDEX */
	u32 anchor;   /* what its addresses are reckoned from: index, or DJS_NO_INDEX: the kernel */
	u8 mechanism; /* enum djs_mechanism: planned */
	u8 forced;    /* 1: no other mechanism may stand in */
	u16 maxactive;	      /* kretprobe instances; 0: default */
	const char *point;    /* pp(): kernel.function("vfs_read@fs/read_write.c:450") */
	const char *function; /* probefunc(); a tracepoint's name */
	const char *name;     /* pn(): the point as the script wrote it */
};

/* A section of another module: where it lies is seen from a symbol in it, once the module is
 * loaded; by a second one, that it is the module that the script was made for. Anchors of one
 * module stand together. */
struct djs_anchor {
	const char *module;
	const char *symbol;
	const char *check_symbol;
	u64 address; /* as linked: what the module's sites are reckoned by */
	u64 check_address;
};

/* A map or a per-CPU statistic, and where the script keeps the pointer to it. */
struct djs_map_use {
	struct djs_map_shape shape;
	struct djs_map **map; /* set before any handler runs */
};
struct djs_statistic_use {
	struct djs_statistic_shape shape;
	void **percpu; /* one copy a CPU: set to what alloc_percpu yields */
};
/* What one foreach statement needs to sort by. */
struct djs_iterator_use {
	const struct djs_map_order *order;
	struct djs_iterator **iterator; /* set before any handler runs */
	u32 map;			/* index */
	u32 room;			/* for ranks; 0: it does not sort */
	u32 task_room; /* the same for handlers in a task: they have ranks of their own */
	u32 in_task;   /* there are such handlers */
};

struct djs_script {
	u32 abi_version; /* DJS_ABI_VERSION */
	u32 handler_count, site_count, map_count, statistic_count, iterator_count, lock_count,
	    format_count;
	const struct djs_handler *handlers;
	const struct djs_site *sites;
	const struct djs_map_use *maps;
	const struct djs_statistic_use *statistics;
	const struct djs_iterator_use *iterators;
	const struct djs_target *targets;
	u32 target_count;
	u32 anchor_count;
	const struct djs_anchor *anchors;
	/* Plain per-CPU counters in the object's own per-CPU section. */
	u32 counter_count;
	u32 scratch_bytes; /* string memory that one handler with all it calls may need */
	s64 *counters;	   /* per-CPU address of the first */
	/* Formats, for text made in the kernel. */
	const char *const *formats;
	const char *const *format_types;
	/* The same, places and probes, for readers: JSON, the section .djstap.meta. */
	const char *meta;
	u32 meta_bytes;
	/* Which kernel this was made for. */
	u64 anchor;	  /* link-time address of _printk: where the kernel lies is seen from it */
	u64 direct_table; /* the same of the kernel's table of direct calls; 0: not known */
	u64 irq_stack;	  /* where hardirq_stack_ptr is in each CPU's memory; 0: not known */
	u64 build_id_at;  /* of the bytes of its build-id; 0: not known */
	const u8 *build_id;	    /* build_id_bytes of them */
	const char *kernel_version; /* utsname version; NULL: not checked */
	const char *kernel_release;
	const char *const
	    *places; /* "identifier 'x' at file:line:col", by number: where errors happen */
	u32 place_count;
	/* Limits: -D. */
	u32 max_errors, max_skipped, max_trylock, max_nesting, string_bytes, max_backtrace;
	u32 ring_bytes; /* default size of a CPU's ring, a power of two; a module parameter
			   overrides it */
	u32 overload_ms,
	    overload_percent; /* a handler that has a CPU for so long is taken out; 0: none */
	/* Conditions that others change: the last handlers of the table. */
	u32 condition_count;
	u32 build_id_bytes;
	u32 *condition_states; /* what each was when the sites were last armed by it; set by the
				  runtime, and compared by handlers that change its globals */
	/* What targets with return handlers call where a livepatch has the function: goes to the
	 * address in rax. NULL: there are none. */
	const void *elsewhere;
};
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
#define DJS_BUSY_TIMED	  0x40u /* also: the handler counts its own time (control/overload.c) */

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

/* A handler has made some condition different from its state: sites are to be armed or disarmed,
 * soon, by a task. Any context. */
void djs_conditions_changed(void);

/* Sets ctx->error, unless one is set. */
void djs_fail(struct djs_ctx *ctx, const char *message, u32 place);

/* Reads `size` (1, 2, 4, 8) bytes; user memory when the address is below the kernel's half. On a
 * fault sets ctx->error and yields 0. Zero-extended. */
u64 djs_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
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
