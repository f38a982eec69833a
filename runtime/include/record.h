/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records: what handlers write and readers format. There is one ring per CPU, which the reader
 * maps.
 *
 * A handler reserves a record by moving the CPU's head with one instruction that an interrupt
 * cannot split (cmpxchg without lock), fills it, and commits it by storing its size last. The
 * reader consumes records from its tail as long as their size is not 0, zeroes what it consumed,
 * and then moves the tail. A handler that interrupts another one thus needs no special care, and
 * neither side ever waits.
 *
 * A thread of a program may leave a handler for good, by the longjmp of a signal's handler. There
 * (injected/), the size with DJS_RECORD_IN_FLIGHT is stored first when a record is reserved, so
 * that a reader can pass over it when nobody writes any more. If not even that was stored, the
 * record is zero up to the next one. */
#ifndef DJSTAP_RECORD_H
#define DJSTAP_RECORD_H

#include "include/platform.h"

/*
 * The header of a record. The arguments follow it, each aligned to 8 bytes:
 *   l  s64
 *   s  u32 length, the bytes (no terminator), padding
 *   n  DJS_NAME_BYTES: a name, which ends at the first NUL
 *   k  a call stack: u64 number of addresses, then these
 *   h  struct djs_histogram_header, then its buckets (s64 each)
 *   B, L, N, D, P, F, I
 *      a text that is made of symbols (symbols.h): u64 number of slots, then these
 * The fields of the event (below) precede the arguments of a format, where the script has them.
 */
struct djs_record {
	/* bytes including this header, a multiple of 8; 0 until the record is complete */
	u32 size;
	u32 id;	  /* index of its format, or one of DJS_RECORD_* */
	u64 time; /* time stamp counter: orders the records of all CPUs */
};

#define DJS_RECORD_IN_FLIGHT 1u /* of the size of a record that is not complete */

#define DJS_NAME_BYTES 16u /* TASK_COMM_LEN */

#define DJS_RECORD_FIRST_SPECIAL 0xffffff00u
#define DJS_RECORD_ERROR	 0xffffff00u /* s message, l place: a run-time error ended a handler */
#define DJS_RECORD_WARNING	 0xffffff01u /* s message */
#define DJS_RECORD_EXIT		 0xffffff02u /* exit() was called; nothing follows */
#define DJS_RECORD_PADDING	 0xffffff03u /* skipped by readers */
#define DJS_RECORD_TEXT		 0xffffff04u /* s text, printed unchanged: print_regs() */

/* s text, l id: kept by readers until COMMIT or DISCARD */
#define DJS_RECORD_SPECULATION 0xffffff05u
#define DJS_RECORD_COMMIT      0xffffff06u /* l id: prints what was kept under it */
#define DJS_RECORD_DISCARD     0xffffff07u /* l id: drops it */
#define DJS_RECORD_SYSTEM      0xffffff08u /* s command: the reader of the session runs it */
/* print_backtrace(): u64 number of slots (symbols.h), then these. The number has the bit
 * DJS_STACK_FILELINE if lines of the source code belong to them: print_ubacktrace_fileline() */
#define DJS_RECORD_STACK       0xffffff09u
#define DJS_RECORD_SWITCH_FILE 0xffffff0au /* what follows belongs into the next output file */
#define DJS_STACK_FILELINE     (1ull << 63)

/* The largest record that every session accepts. A longer one may fit a ring that is large enough,
 * but never a part of a flight recorder's ring; records that do not fit are counted
 * (djs_counts.oversized). */
#define DJS_RECORD_MAX 16384u

/*
 * The fields of an event that a script records only on request (--event-fields): FIELD(name, bit)
 * for each. Two words hold them, and each is present only if one of its fields is requested:
 *   struct djs_event_task
 *   u64 index of the site in djs_script.sites, or DJS_EVENT_NO_SITE if it is unknown
 */
#define DJS_EVENT_PROBE 1u
#define DJS_EVENT_PID	2u
#define DJS_EVENT_TID	4u
/* Every record has these: readers are told to show them. */
#define DJS_EVENT_CPU  8u
#define DJS_EVENT_TIME 16u
#define DJS_EVENT_FIELDS(FIELD)                                                                    \
	FIELD(probe, DJS_EVENT_PROBE)                                                              \
	FIELD(pid, DJS_EVENT_PID)                                                                  \
	FIELD(tid, DJS_EVENT_TID)                                                                  \
	FIELD(cpu, DJS_EVENT_CPU)                                                                  \
	FIELD(time, DJS_EVENT_TIME)
#define DJS_EVENT_NO_SITE (~(u64)0)

/* Each is valid only if it is requested. */
struct djs_event_task {
	s32 pid, tid;
};

/* Returns the size of the words for `fields`, a set of DJS_EVENT_*. */
static inline u32 djs_event_field_bytes(u32 fields)
{
	return (fields & (DJS_EVENT_PID | DJS_EVENT_TID) ? 8 : 0) +
	       (fields & DJS_EVENT_PROBE ? 8 : 0);
}

/* What formats show (ModuleMeta::Format) that a timer probe for --monitor prints: a number at the
 * beginning and at the end of a snapshot of all globals, and between them, besides the globals, a
 * line for each probe of the script. Its keys are the probe's number and its points, its values
 * those of a statistic of the cycles that its handler took. */
#define DJS_SHOWS_BEGIN "(snapshot"
#define DJS_SHOWS_PROBE "(probe)"
#define DJS_SHOWS_END	"snapshot)"

/* Stands for each of these words at the beginning of djs_script.format_types. */
#define DJS_EVENT_FIELD_TYPE 'f'

struct djs_histogram_header {
	u32 kind;	      /* enum djs_histogram_kind */
	u32 buckets;	      /* number of buckets that follow */
	s64 low, high, width; /* linear */
	s64 count, sum, min, max;
};

/* The clock of records at one moment: readers convert record times to nanoseconds with it. The
 * reader of a live session adds moments of its own, sampled from the same clocks. */
struct djs_clock {
	u64 cycles;	  /* as in djs_record.time */
	u64 monotonic_ns; /* CLOCK_MONOTONIC at that moment */
	u64 realtime_ns;  /* CLOCK_REALTIME at that moment */
	/* frequency, accurate to a few parts in a hundred thousand; 0: unknown */
	u32 cycles_khz;
	u32 pad;
};

#define DJS_ALIGN8(n) (((n) + 7) & ~(u64)7)

#endif
