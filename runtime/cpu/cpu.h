/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of one CPU: what the hot path reads is in one cache line. */
#ifndef DJSTAP_CPU_H
#define DJSTAP_CPU_H

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/kprobes.h>

#include "include/script.h"

#define djs_error(format, ...)	 pr_err("%s: " format "\n", THIS_MODULE->name, ##__VA_ARGS__)
#define djs_warning(format, ...) pr_warn("%s: " format "\n", THIS_MODULE->name, ##__VA_ARGS__)

struct djs_cpu {
	struct djs_ctx *contexts; /* DJS_LEVELS of them */
	u64 head;		  /* offset in the ring: bytes ever reserved */
	u64 limit;		  /* upper bound of head: the tail as last seen + the ring's size */
	char *data;		  /* the ring, mapped twice in a row */
	u64 mask;		  /* the ring's size - 1 */
	struct djs_ring_page *page; /* shared with the reader */
	u64 lost;
	u64 skipped_busy;
	u64 skipped_locked;
	u64 skipped_stack;
	u64 overwritten;   /* flight recorder: records that newer ones replaced */
	u64 oversized;	   /* records that are longer than djs_record_limit() */
	u32 changing_part; /* flight recorder: 1 while djs_next_part works */
	u64 locked_alone;  /* handlers without a context that call what may be probed, holding locks
			    */
	unsigned long variables; /* what is added to the address of a per-CPU variable as linked */
	s64 inside; /* calls into functions with return djprobes minus returns: may be negative */
	u32 lent_busy; /* the context of tasks before djs_task_lock: its busy and its handler */
	const struct djs_handler *lent_handler;
};
DECLARE_PER_CPU(struct djs_cpu, djs_cpu);
/* Returns the sum of one 64-bit field over all CPUs. */
u64 djs_cpu_sum(size_t field_offset);
#define DJS_CPU_SUM(field) djs_cpu_sum(offsetof(struct djs_cpu, field))

#define DJS_LEVELS	  4 /* task, softirq, hardirq, NMI */
#define DJS_LEVEL_NMI	  3
#define DJS_LEVEL_SESSION 4

#endif
