/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract between a script's object (emitted by compiler/codegen) and the runtime (built by
 * Kbuild once per kernel): what the fields of its tables (contract.def) may hold, what a handler
 * sees, and what it calls. The object defines `djs_script`, from which everything else is
 * reached. */
#ifndef DJSTAP_SCRIPT_H
#define DJSTAP_SCRIPT_H

#include "include/contract.h"
#include "include/control.h"
#include "include/map.h"
#include "include/mechanisms.h"
#include "include/record.h"
#include "include/statistic.h"
#include "include/text.h"

struct task_struct;

/* Why a site does not have the planned mechanism. */
enum djs_fallback {
	DJS_FALLBACK_NONE = 0,
	/* Another direct user (BPF, livepatch, another script) has the function. */
	DJS_FALLBACK_BUSY,
	DJS_FALLBACK_FTRACE_OFF, /* kernel.ftrace_enabled is 0 */
	DJS_FALLBACK_TABLE_FULL, /* the kernel's table of direct calls is full */
};

enum djs_handler_kind {
	DJS_HANDLER_BEGIN = 0,
	DJS_HANDLER_END,
	DJS_HANDLER_ERROR, /* runs instead of end probes after an error */
	DJS_HANDLER_TIMER,
	/* At a function's entry or any instruction: pt_regs, or a direct call's registers. */
	DJS_HANDLER_ENTRY,
	DJS_HANDLER_RETURN,
	DJS_HANDLER_CONDITION, /* stores the value of a probe's condition in ctx->condition */
};

#define DJS_HANDLER_CHECKS_STATE                                                                   \
	1u			/* runs only while the session runs (it prints, fails or exits) */
#define DJS_HANDLER_IRQS_OFF 2u /* holds locks: interrupts stay off */
/* A return handler: a task that sleeps in the function may return after the session has ended. */
#define DJS_HANDLER_MAY_LINGER 4u
/* Walks over a large array and calls only what is available in a task: it runs in a task, and
 * releases its locks now and then (globals/foreach.c). */
#define DJS_HANDLER_IN_TASK 8u
/* At a system call, whose arguments are in the pt_regs that its function receives. */
#define DJS_HANDLER_SYSCALL 16u

/* Each lock of a script's globals has a cache line of its own. Its first 32 bits count the readers;
 * -1: a writer. */
#define DJS_LOCK_BYTES 64
/* A bit of djs_gate that is no handler's flag: interrupts cannot be disabled by an instruction, and
 * handlers call djs_lock_enter. */
#define DJS_GATE_NO_INLINE_LOCKS 0x10000u

/* Values of DJS_PERF_HOW. */
enum djs_perf_how {
	DJS_PERF_BY_COUNT = 0,
	DJS_PERF_BY_FREQUENCY = 1,
	DJS_PERF_COUNTER = 2, /* + its number: no handler runs, @perf reads it */
};
#define DJS_MOST_PERF_COUNTERS 64
/* Bits of DJS_PERF_HOW: only threads of one program (djs_handler.program), or of the process of -c
 * or -x. Neither: each CPU. */
#define DJS_PERF_OF_PROGRAM 0x100
#define DJS_PERF_OF_TARGET  0x200
/* Bits of DJS_BREAKPOINT_HOW. */
enum djs_breakpoint_how {
	DJS_BREAKPOINT_READS = 1 << 0,	   /* reads count, too */
	DJS_BREAKPOINT_AS_LINKED = 1 << 1, /* the address is the kernel's, without its load bias */
};

#define DJS_AIM_WORDS 2 /* size of djs_target.aim */
/* What djs_target.dispatch calls before it is pointed at a function. */
void djs_not_aimed(void);

#define DJS_NO_INDEX	(~0u)
#define DJS_NO_FALLBACK ((s32)0x80000000)

#ifdef __KERNEL__
extern const struct djs_script djs_script;
#else
extern struct djs_script djs_script; /* runtime/userspace: a copy of the one that was linked */
#endif

/* Returns a text of a site: its function, name or file. */
static __always_inline const char *djs_site_text(u32 offset)
{
	return djs_script.site_texts + offset;
}

/* Returns the link-time address of the symbol of the site's function. */
static __always_inline u64 djs_site_entry(const struct djs_site *site)
{
	return site->address + site->entry;
}

static __always_inline bool djs_site_has_fallback(const struct djs_site *site)
{
	return site->fallback != DJS_NO_FALLBACK;
}

/* Writes the site's probe point. */
static __always_inline void djs_site_point(const struct djs_site *site, char *out, size_t size)
{
	const char *point = djs_site_text(site->point);

	if (site->line == DJS_NO_INDEX)
		djs_text_copy(out, point, size);
	else
		djs_text_point(out, size, point, djs_site_text(site->function),
			       djs_site_text(site->file), site->line);
}

/* Writes the name under which the script wrote it. */
static __always_inline void djs_site_name(const struct djs_site *site, char *out, size_t size)
{
	if (site->name == DJS_NO_INDEX)
		djs_site_point(site, out, size);
	else
		djs_text_copy(out, djs_site_text(site->name), size);
}

/* Returns a text, or an empty one for NULL, from a function of the library. */
static __always_inline void djs_return_text(char *out, const char *text)
{
	djs_text_copy(out, text ? text : "", djs_script.string_bytes);
}

/* ---- what a handler sees --------------------------------------------------------------------- */

/* djs_ctx.busy: in use, with locks held (and interrupts disabled) or without. Distinct from all
 * DJS_HANDLER_* flags, because djs_enter tests both at once. */
#define DJS_BUSY_UNLOCKED 0x10u
#define DJS_BUSY_LOCKED	  0x20u
/* in addition: the handler measures its own time (context/overload.c) */
#define DJS_BUSY_TIMED 0x40u

/* How a handler can interrupt work that takes long. */
enum djs_rests {
	/* not at all: it keeps its locks, and interrupts or preemption stay disabled */
	DJS_RESTS_NEVER = 0,
	DJS_RESTS_ALONE, /* no other handler runs: it can yield the CPU */
	DJS_RESTS_SHARED /* the same, and it releases its locks meanwhile */
};

/* The size of what CONTEXT refers to in embedded C (include/embedded_context.h). */
#define DJS_EMBEDDED_BYTES(string_bytes) (4 * (string_bytes) + 512)

/* Room for a struct pt_regs of any architecture. */
#define DJS_REGISTERS_ROOM 64u
struct djs_ctx {
	/* NULL: none; else the message that ends the handler (or enters a catch) */
	const char *error;
	u32 error_place; /* index of djs_script.places */
	u32 level;	 /* 0 task, 1 softirq, 2 hardirq, 3 NMI, 4 session (begin, end) */
	s32 actions;	 /* what is left of MAXACTION */
	/* depth of active calls of script functions; set together with `actions` */
	u32 nesting;
	struct pt_regs *regs; /* NULL when there are none */
	const struct djs_site *site;
	const struct djs_handler *handler;
	u64 *saved;    /* values from function entry, for return probes */
	char *scratch; /* script.scratch_bytes, 8-byte aligned */
	u64 irq_flags;
	u64 return_value; /* return probes */
	u64 condition;	  /* what a DJS_HANDLER_CONDITION found */
	u64 address;	  /* run-time address of the probed instruction or function */
	u32 can_wait;	  /* begin and end: may sleep for room in the ring */
	u32 rests;	  /* enum djs_rests */
	s32 more_actions; /* begin and end: what is left of MAXACTION when `actions` is used up */
	/* the task that was interrupted, for which this runs; NULL: the current one */
	struct task_struct *task;
	u32 cpu;       /* the CPU on which that happened */
	u32 user_regs; /* regs are those of user space */
	u32 locks_held;
	u32 busy;	   /* 0: free; else DJS_BUSY_* */
	char *error_text;  /* djs_error_bytes(), for messages formatted at run time */
	u32 reserved;	   /* bytes of the record between reserve and commit */
	char *work;	   /* DJS_WORK_BYTES for the runtime's own functions */
	u32 token_at;	   /* tokenize(): offset of the next token in its string, after `work` */
	char *file_text;   /* procfs: the content that is read or was written */
	u32 file_bytes;	   /* its capacity, including the terminator */
	u32 next_overload; /* embedded C: STAP_NEXT passes the call on */
	u32 aborted;	   /* the error is abort(): neither caught nor reported */
	u32 walked;	   /* what this run of the handler sorted or visited: DJS_WALKED_AT_ONCE */
	u32 returned;	   /* regs are those at the return: the arguments are gone */
	/* embedded C: DJS_EMBEDDED_BYTES, of which this run of the handler has made use */
	char *embedded;
	u32 embedded_used;
	/* of a direct call whose handler does not contain its body; what is no argument stays 0 */
	u64 entry_regs[DJS_REGISTERS_ROOM];
};

#ifdef __cplusplus
extern "C" {
#endif
/*
 * For direct handlers. djs_enter acquires this CPU's context for the current level, with preemption
 * disabled (and interrupts, where the handler holds locks), and the handler's locks. NULL: the hit
 * is skipped and counted.
 */
struct djs_ctx *djs_enter(const struct djs_handler *handler, const struct djs_site *site);
void djs_leave(struct djs_ctx *ctx);
/* The most stack that a handler may need, including MINSTACKSPACE. */
#define DJS_STACK_MAX 8192u
/* The most stack that is needed below a handler: for a fault and the report of it, for the kernel's
 * functions that read user memory, or for the runtime's functions. MINSTACKSPACE is no less. */
#define DJS_FAULT_STACK 2048u
/* Returns 1, and counts a skipped hit, if fewer than `bytes` are left of the stack. */
u32 djs_lacks_stack(u32 bytes);
/* For handlers without a context that hold locks: disables interrupts and takes the locks. Returns
 * 0 if the handler must not run or the locks cannot be taken (counted), else a number for
 * djs_lock_leave, which is not DJS_IRQS_ON: that stands for a lock that the handler took itself. */
u64 djs_lock_enter(const struct djs_handler *handler);
/* The same for a handler that has disabled interrupts itself and found a lock taken. */
u64 djs_lock_wait(const struct djs_handler *handler);
void djs_lock_leave(const struct djs_handler *handler, u64 flags);
/* Reports an error of a handler without a context, after it has released its locks. */
void djs_fail_alone(const char *message, u32 place);
/* The same for a read of `size` bytes, or of DJS_READ_TEXT, unless handlers that can fail no longer
 * run. DJS_READ_PROCESS is added to the size where the script means a process's memory. */
void djs_fail_read_alone(u64 address, u32 size, u32 place);
#define DJS_READ_TEXT	 0u
#define DJS_READ_PROCESS 0x100u
/* djs_load for a handler without a context, where one instruction in the handler cannot read. It
 * marks the context of this level as busy: a probe on what reads user memory is skipped instead of
 * entering itself. */
struct djs_loaded {
	u64 value;
	s64 status; /* 0; below 0: a fault; above 0: the hit is skipped, and counted */
};
struct djs_loaded djs_load_alone(u64 address, u32 size); /* DJS_READ_PROCESS: only of a process */
/* The same for a string of a process, of at most `size` bytes: fills `words`, including the one
 * that its end is in, with zeros behind the end. */
struct djs_loaded djs_load_words_alone(u64 address, u64 *words, u32 size);
/* Per-CPU address of the mm whose page tables the CPU uses. While it is that of the current task, a
 * handler may read the task's memory; it never is where the runtime has to read. access/process.c
 * declares it: __percpu is complete only after the kernel's own header for it.
 *	unsigned long __percpu *djs_loaded_mm; */
/* Returns the site of `handler` whose call returns to `return_address`. Never NULL for an attached
 * site, unless a livepatch or a kprobe replaces its function. */
const struct djs_site *djs_find_site(const struct djs_handler *handler, u64 return_address);

/* Reserves a record of `size` bytes (header included, multiple of 8) in this CPU's ring; NULL: no
 * room, counted as lost. Preemption is disabled between reserve and commit. The caller fills in
 * everything but `size`. */
struct djs_record *djs_reserve(struct djs_ctx *ctx, u32 id, u32 size);
void djs_commit(struct djs_ctx *ctx, struct djs_record *record, u32 size);

/* For handlers that reserve records inline (codegen/lean.cpp). djs_make_room returns 1 when,
 * according to the reader's tail, a record of `size` bytes fits this CPU's ring now; 0: counted as
 * lost. djs_reschedule: call it after enabling preemption by hand when a reschedule is due. */
u32 djs_make_room(u32 size);
void djs_reschedule(void);

/* $value of a procfs probe; does nothing in other probes. */
void djs_file_set(struct djs_ctx *ctx, const char *text);
void djs_file_append(struct djs_ctx *ctx, const char *text);
const char *djs_file_get(struct djs_ctx *ctx);

/* The string that a pretty-printed target variable ($x$) points to: at most `size` bytes. A pointer
 * of a program points to its own memory (`user`); one of the kernel may point to either. */
void djs_shown_string(struct djs_ctx *ctx, char *out, s64 address, s64 size, u32 user);

/* pid() and tid(), which the fields of events use, too. */
s64 djs_fn_pid(struct djs_ctx *ctx);
s64 djs_fn_tid(struct djs_ctx *ctx);

/*
 * Call stacks, as backtrace() yields them: the number of addresses (as words, words.h), at most
 * djs_script.max_backtrace, then these, the innermost first. djs_take_stack_at_entry is for a
 * trampoline, with the stack pointer and the frame pointer at its function's entry.
 */
void djs_take_stack(struct djs_ctx *ctx, u64 *stack);
void djs_take_stack_at_entry(struct djs_ctx *ctx, u64 *stack, u64 pointer, u64 frame);
/* The same for the program that was interrupted, or that entered the kernel. */
void djs_take_user_stack(struct djs_ctx *ctx, u64 *stack);
/* Returns the word (words.h) of an address of the current process. `returns`: whether a call
 * returns there. */
u64 djs_user_word(struct djs_ctx *ctx, u64 address, u32 returns);
void djs_copy_stack(u64 *to, const u64 *from);
/* Writes a stack's addresses in hexadecimal to a string of the script. */
void djs_stack_text(char *out, const u64 *stack);
/* print_stack(): a line for each address. */
void djs_print_stack(struct djs_ctx *ctx, const u64 *stack);
/*
 * Makes an argument of a record (symbols.h) of a stack, in place: a text if there is no room in the
 * table of symbols. `type`: DJS_SYMBOLS_*. Returns its size. `words` has room for a stack, and for
 * a string after the first word.
 */
u64 djs_symbols_argument(struct djs_ctx *ctx, u64 *words, u32 type);

/* A handler has changed the value of some condition: a task will arm or disarm sites soon. Any
 * context. */
void djs_conditions_changed(void);

/* Sets ctx->error, unless it is already set. */
void djs_fail(struct djs_ctx *ctx, const char *message, u32 place);

/* Reads `size` (1, 2, 4, 8) bytes, from user memory when the address is below the kernel's half.
 * Zero-extends. On a fault, sets ctx->error and returns 0. */
u64 djs_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
/* The same, but only for user space: a kernel address is an error. */
u64 djs_load_user(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
/* Returns a word of the current process's stack, or the return address there, which the kernel may
 * have replaced; 0 if it cannot be read. */
u64 djs_user_stack_word(u64 slot);
u64 djs_user_return_address(u64 slot);
/* Returns the return address on the current kernel stack in whose place a kretprobe has its own. */
u64 djs_replaced_return(u64 slot);
/* Sets ctx->error after a read of kernel memory in the handler itself has faulted. */
void djs_fail_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place);
void djs_store(struct djs_ctx *ctx, u64 address, u32 size, u64 value, u32 place);
/* The same, but only for user space. */
void djs_store_user(struct djs_ctx *ctx, u64 address, u32 size, u64 value, u32 place);
/* Reads `size` bytes to `out` as djs_load does, or if `user` as djs_load_user. */
void djs_copy_memory(struct djs_ctx *ctx, char *out, u64 address, u64 size, u32 user, u32 place);

/* How long a walk over an array continues without a pause. */
struct djs_pace {
	u32 walked;  /* elements since the last pause */
	u32 at_once; /* the most elements between pauses */
	u32 rests;   /* the walk pauses now and then */
	u32 weight;  /* what an element counts as */
	u32 texts;   /* elements are sorted by strings of fewer bytes than this; 0: by numbers */
};
/* An active foreach. */
struct djs_iterator; /* globals/foreach.c */
struct djs_foreach {
	struct djs_iterator *iterator;
	const union djs_value *slice;
	struct djs_map_walk walk;
	s64 left; /* what is left of the limit */
	struct djs_pace pace;
	s32 actions; /* actions left at the last pause */
	u32 place;
	u32 serial; /* differs from that of the iterator once the iterator has been restarted */
	u32 plain;  /* unsorted: takes the next element while nothing changes */
};
/*
 * Begins a walk; an error is in ctx->error. `limit` < 0: all elements. `slice` must stay valid
 * until the foreach ends.
 */
void djs_foreach_begin(struct djs_ctx *ctx, struct djs_foreach *foreach,
		       struct djs_iterator *iterator, const union djs_value *slice, s64 limit,
		       u32 place);
/* Returns the number of the next element; 0: no more, or an error. Elements that were removed since
 * the beginning are skipped. */
u32 djs_foreach_next(struct djs_ctx *ctx, struct djs_foreach *foreach);
/* delete a[x, *] and [x, *] in a; `map` is the map's index. */
void djs_erase_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys, u32 fixed,
		     u32 place);
u32 djs_has_slice(struct djs_ctx *ctx, u32 map, const union djs_value *keys, u32 fixed, u32 place);
/* Called when ctx->actions is used up. Returns 1 if there are more; else the handler fails. */
u32 djs_more_actions(struct djs_ctx *ctx, u32 place);

/* The most elements that are sorted, or visited, with interrupts disabled; more is an error. */
#define DJS_SORTED_AT_ONCE	 16384u
#define DJS_TEXTS_SORTED_AT_ONCE 4096u
/*
 * Also for all walks of one run of a handler together. It bounds the time: where an element takes
 * longer than a number that is sorted or looked at, some 150 instructions, it counts as several.
 */
#define DJS_WALKED_AT_ONCE	 524288u
#define DJS_SLICED_AT_ONCE	 131072u
#define DJS_TEXTS_SLICED_AT_ONCE 16384u
/*
 * The largest limit for which the best elements are selected from everything that may be visited.
 */
#define DJS_SELECTED_AT_ONCE 256u
#define DJS_SELECTED_EASILY  15u /* of so many, each counts as one */

/* Indexed by segment: run-time address - link-time address. 0: its module is not loaded. */
extern unsigned long *djs_biases;

/* Totals of per-CPU storage; exact when no writer runs. */
s64 djs_counter_read(u32 counter);
/* @perf: the count of this CPU's event of perf.….counter. Callable in any context. */
s64 djs_perf_read(u32 counter);
void djs_counter_clear(u32 counter);
/* <<< on a per-CPU statistic: updates this CPU's copy, consistently even when interrupted. */
void djs_statistic_record(u32 statistic, s64 value);
void djs_statistic_read(u32 statistic, struct djs_statistic *out); /* out: shape.bytes */
void djs_statistic_clear(u32 statistic);
#ifdef __cplusplus
}
#endif

#endif
