/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handlers with a program's registers and the values of a call.
 */
#ifndef DJSTAP_PROGRAMS_HANDLER_H
#define DJSTAP_PROGRAMS_HANDLER_H

#include "context/context.h"

/* Takes the CPU's context for a handler that is hit in a program; NULL: it is skipped. `values`:
 * from the entry of the call, which has to return. `address`: of the function or the system call.
 */
static __always_inline struct djs_ctx *djs_enter_program(const struct djs_handler *handler,
							 const struct djs_site *site,
							 struct pt_regs *regs,
							 unsigned long address, u64 *values)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (ctx) {
		ctx->regs = regs;
		ctx->user_regs = 1;
		ctx->saved = values;
		ctx->address = address;
	}
	return ctx;
}

static __always_inline void djs_leave_program(struct djs_ctx *ctx)
{
	ctx->regs = NULL;
	ctx->user_regs = 0;
	ctx->saved = NULL;
	ctx->returned = 0;
	djs_leave(ctx);
}

#endif
