// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks and symbols for a script's embedded C code, as functions of the tapsets give them.
#include "include/embedded.h"
#include "include/functions.h"

/* Room for a string between two functions of the tapsets. */
static DJS_HANDLER_CODE char *text_between(struct djs_ctx *ctx)
{
	return djs_embedded_context(ctx)->strings + djs_script.string_bytes;
}

DJS_HANDLER_CODE void djs_embedded_print_stack(struct djs_ctx *ctx, bool of_program)
{
	char *addresses = text_between(ctx);

	if (of_program) {
		djs_fn_ubacktrace(ctx, addresses);
		djs_fn_print_ustack(ctx, addresses);
	} else {
		djs_fn_backtrace(ctx, addresses);
		djs_fn_print_stack(ctx, addresses);
	}
}

DJS_HANDLER_CODE void djs_embedded_stack_text(struct djs_ctx *ctx, char *out, size_t bytes,
					      int what, bool of_program)
{
	char *text = text_between(ctx);

	if (what == _STP_SYM_NONE)
		(of_program ? djs_fn_ubacktrace : djs_fn_backtrace)(ctx, text);
	else
		(of_program ? djs_fn_sprint_ubacktrace : djs_fn_sprint_backtrace)(ctx, text);
	if (bytes)
		strscpy(out, text, bytes);
}

DJS_HANDLER_CODE s64 djs_embedded_stack_address(struct djs_ctx *ctx, u32 depth, bool of_program)
{
	return of_program ? djs_fn_ustack(ctx, depth) : djs_fn_stack(ctx, depth);
}

DJS_HANDLER_CODE int djs_embedded_symbol(struct djs_ctx *ctx, char *out, size_t bytes, u64 address,
					 int what, bool of_program)
{
	char *text = text_between(ctx);

	if (what == _STP_SYM_SYMBOL)
		(of_program ? djs_fn_usymname : djs_fn_symname)(ctx, text, address);
	else if (what == _STP_SYM_DATA)
		(of_program ? djs_fn_usymdata : djs_fn_symdata)(ctx, text, address);
	else /* no lines of source files are known here */
		scnprintf(text, djs_script.string_bytes, "%#llx", (unsigned long long)address);
	return bytes ? strscpy(out, text, bytes) : 0;
}
