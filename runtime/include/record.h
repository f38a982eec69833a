/* SPDX-License-Identifier: GPL-2.0-or-later
 * Records: what handlers write and readers format. One ring a CPU, mapped by the reader.
 *
 * A record is reserved by moving the CPU's head with one instruction that an interrupt cannot tear
 * (cmpxchg without lock), filled, and committed by storing its size last. The reader takes records
 * from its tail as long as their size is not 0, zeroes what it took, and then moves the tail. Thus
 * a handler that interrupts another one needs no care, and nobody waits for anybody.
 */
#ifndef DJSTAP_RECORD_H
#define DJSTAP_RECORD_H

#include "include/platform.h"

struct djs_record {
	u32 size; /* bytes with this header, a multiple of 8; 0 until the record is complete */
	u32 id;	  /* index of its format, or one of DJS_RECORD_* */
	u64 time; /* time stamp counter: orders the records of all CPUs */
		  /* arguments follow, each beginning at a multiple of 8:
		   *   l  s64
		   *   s  u32 length, the bytes (no terminator), padding
		   *   h  struct djs_histogram_header, then its buckets (s64 each)
		   */
};

#define DJS_RECORD_FIRST_SPECIAL 0xffffff00u
#define DJS_RECORD_ERROR	 0xffffff00u /* s message, l place: a run-time error ended a handler */
#define DJS_RECORD_WARNING	 0xffffff01u /* s message */
#define DJS_RECORD_EXIT		 0xffffff02u /* exit() was called; nothing follows */
#define DJS_RECORD_PADDING	 0xffffff03u /* nothing; skipped */
#define DJS_RECORD_TEXT		 0xffffff04u /* s text, printed as it is: log(), print_backtrace() */

#define DJS_RECORD_SPECULATION 0xffffff05u /* s text, l id: kept by readers until one of these: */
#define DJS_RECORD_COMMIT      0xffffff06u /* l id: prints what was kept under it */
#define DJS_RECORD_DISCARD     0xffffff07u /* l id: drops it */

/* What every session keeps. A longer one may find room in a ring as large as that, but never in a
 * flight recorder's part; where there is none it is counted (djs_counts.oversized). */
#define DJS_RECORD_MAX 16384u

struct djs_histogram_header {
	u32 kind;	      /* enum djs_histogram_kind */
	u32 buckets;	      /* that follow */
	s64 low, high, width; /* linear */
	s64 count, sum, min, max;
};

/* The clock of records at one moment: what a reader makes nanoseconds of their times with. A live
 * session's reader adds moments of its own, which it takes from the same clocks. */
struct djs_clock {
	u64 cycles;	  /* as in djs_record.time */
	u64 monotonic_ns; /* CLOCK_MONOTONIC then */
	u64 realtime_ns;  /* CLOCK_REALTIME then */
	u32 cycles_khz;	  /* how fast it goes, to a few parts in a hundred thousand; 0: not known */
	u32 pad;
};

#define DJS_ALIGN8(n) (((n) + 7) & ~(u64)7)

#endif
