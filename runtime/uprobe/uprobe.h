/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in programs and libraries: a consumer of the kernel's uprobes at an offset in a file, for
 * every process that maps the file. programs.c finds the files, calls.c keeps the values from a
 * function's entry until it returns.
 */
#ifndef DJSTAP_UPROBE_H
#define DJSTAP_UPROBE_H

#include "context/context.h"
#include "sites/sites.h"

struct inode;

/* ---- files: programs.c ----------------------------------------------------------------------- */

/* Returns the inode of the site's file, which is kept until djs_programs_release; or an error, and
 * why. May sleep. */
struct inode *djs_program_file(const struct djs_site_run *run, const char **why);
void djs_programs_release(void);
/* Returns whether the file has the code for which the site was compiled: 0 or an error. For files
 * that no build-id identifies. May sleep. */
int djs_program_check_code(const struct djs_site_run *run);
/* Returns the offset of a site in its file. */
static inline u64 djs_offset_in_file(const struct djs_site *site)
{
	return site->address - djs_script.segments[site->segment].file_distance;
}

/* Returns whether a task belongs to the process of -c or -x or its descendants, or there is none.
 * Any context. */
bool djs_is_in_tree(const struct task_struct *task);
/* Returns whether a hit in the current process concerns a handler that is only about the process
 * with this number; 0: about all. Any context. */
bool djs_concerns_process(u64 only);

/* ---- handlers with a program's registers and the values of a call ------------------------------
 */

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

/* ---- calls that have not returned: calls.c --------------------------------------------------- */

struct djs_calls;

/* Makes room for `count` calls with `words` values each. NULL: no memory. */
struct djs_calls *djs_calls_make(u32 count, u32 words);
void djs_calls_free(struct djs_calls *calls);
/* What has begun until now has no values: entries or returns have not been seen meanwhile. */
void djs_calls_forget(struct djs_calls *calls);
/* Returns room for the values of a call by the current task whose return address is at `frame`.
 * `owner`: whose values they are. The caller fills it, and then calls djs_call_begun. */
u64 *djs_call_begin(struct djs_calls *calls, const void *owner, unsigned long frame);
/* Without values (`valid` is false) the return is not handled. */
void djs_call_begun(u64 *values, bool valid);
/* Returns what was kept for the call, until djs_call_over; NULL: nothing, because it had no values,
 * or because there were too many calls, which is counted. */
u64 *djs_call_find(struct djs_calls *calls, const void *owner, unsigned long frame,
		   atomic64_t *missed);
void djs_call_over(u64 *values);

#endif
