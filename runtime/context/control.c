// SPDX-License-Identifier: GPL-2.0-or-later
// exit(), abort(), error(), warn(), log().
#include "context/functions.h"
#include "control/runtime.h"

DJS_HANDLER_CODE void djs_fn_exit(struct djs_ctx *ctx)
{
	if (READ_ONCE(djs_control->exit_requested))
		return;
	djs_record_plain(ctx, DJS_RECORD_EXIT);
	djs_request_exit(false);
}

/* An error that nothing catches and nobody is told of. */
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

DJS_HANDLER_CODE void djs_fn_log(struct djs_ctx *ctx, const char *message)
{
	u32 length = min_t(size_t, strlen(message), DJS_RECORD_MAX / 2);
	u32 size = sizeof(struct djs_record) + DJS_ALIGN8(sizeof(u32) + length + 1);
	struct djs_record *record = djs_reserve(ctx, DJS_RECORD_TEXT, size);
	char *to = (char *)(record + 1);

	if (!record)
		return;
	*(u32 *)to = length + 1;
	memcpy(to + sizeof(u32), message, length);
	to[sizeof(u32) + length] = '\n';
	djs_commit(ctx, record, size);
}
