// SPDX-License-Identifier: GPL-2.0-or-later
// exit(), abort(), error(), warn(), system(), switch_file().
#include "access/access.h"
#include "include/functions.h"

DJS_HANDLER_CODE void djs_fn_exit(struct djs_ctx *ctx)
{
	if (READ_ONCE(djs_control->exit_requested))
		return;
	djs_record_plain(ctx, DJS_RECORD_EXIT);
	djs_request_exit(false);
}

/* An error that is neither caught nor reported. */
DJS_HANDLER_CODE void djs_fn_abort(struct djs_ctx *ctx)
{
	djs_fn_exit(ctx);
	ctx->aborted = 1;
	djs_fail(ctx, "", DJS_NO_PLACE);
}

DJS_HANDLER_CODE void djs_fn_error(struct djs_ctx *ctx, const char *message)
{
	djs_fail_text(ctx, DJS_NO_PLACE, "%s", message);
}

DJS_HANDLER_CODE void djs_fn_warn(struct djs_ctx *ctx, const char *message)
{
	djs_record_text(ctx, DJS_RECORD_WARNING, message, 0);
}

DJS_HANDLER_CODE void djs_fn_system(struct djs_ctx *ctx, const char *command)
{
	djs_record_text(ctx, DJS_RECORD_SYSTEM, command, 0);
}

DJS_HANDLER_CODE void djs_fn_switch_file(struct djs_ctx *ctx)
{
	djs_record_plain(ctx, DJS_RECORD_SWITCH_FILE);
}
