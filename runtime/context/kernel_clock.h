/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_CONTEXT_KERNEL_CLOCK_H
#define DJSTAP_CONTEXT_KERNEL_CLOCK_H

#ifdef DJS_HAVE_TK_READ_BASE
#include <linux/seqlock.h>
#include <linux/timekeeper_internal.h>

/* The kernel's struct tk_fast, which no header has. */
struct djs_tk_fast {
	seqcount_latch_t seq;
	struct tk_read_base base[2];
};
#endif

/* Lets handlers read the kernel's clock themselves if what they would compute is what the kernel's
 * functions return. */
void djs_kernel_clock_init(void);

#endif
