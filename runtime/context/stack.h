/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_CONTEXT_STACK_H
#define DJSTAP_CONTEXT_STACK_H

#include "include/script.h"

/* Addresses of a walk, including those above the probe. */
#define DJS_TRACE_MAX 144

/* Collects the stack from the probed place on, or from the place that a sample interrupted, in the
 * work area: *entries is the first of the returned number of addresses, behind room for that
 * number. Empty if a process was interrupted in user mode: it has no calls in the kernel. */
u32 djs_trace_stack(struct djs_ctx *ctx, u64 **entries);

#endif
