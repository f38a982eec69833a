// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language that read strings from memory; the tapset defines the others.
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "state/state.h"

static DJS_HANDLER_CODE void string_or_fail(struct djs_ctx *ctx, char *out, s64 address, s64 size,
					    bool user)
{
	long length;

	size = clamp_t(s64, size, 0, djs_script.string_bytes - 1) + 1;
	length = user ? djs_read_user_string(out, address, size)
		      : djs_read_kernel_string(out, address, size);
	if (length >= 0)
		return;
	*out = 0;
	djs_fail_access(ctx, "read a string", address, user, DJS_NO_PLACE);
}

DJS_HANDLER_CODE void djs_fn_kernel_string(struct djs_ctx *ctx, char *out, s64 address)
{
	string_or_fail(ctx, out, address, S32_MAX, false);
}

DJS_HANDLER_CODE void djs_fn_kernel_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size)
{
	string_or_fail(ctx, out, address, size, false);
}

DJS_HANDLER_CODE void djs_fn_user_string(struct djs_ctx *ctx, char *out, s64 address)
{
	string_or_fail(ctx, out, address, S32_MAX, true);
}

DJS_HANDLER_CODE void djs_fn_user_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size)
{
	string_or_fail(ctx, out, address, size, true);
}

/* Quotes and escapes `size` bytes of memory, NUL bytes included. What follows the first
 * DJS_WORK_BYTES is left out. */
DJS_HANDLER_CODE void djs_fn___buffer_quoted(struct djs_ctx *ctx, char *out, s64 address, s64 size,
					     s64 most, s64 in_user_space)
{
	u32 bytes = clamp_t(s64, size, 0, DJS_WORK_BYTES);

	*out = 0;
	if (!djs_read_bytes(ctx->work, address, bytes, in_user_space)) {
		djs_fail_access(ctx, "read a buffer", address, in_user_space, DJS_NO_PLACE);
		return;
	}
	most = clamp_t(s64, most, 0, djs_script.string_bytes - 1);
	djs_text_escape_buffer(out, ctx->work, bytes, most, djs_script.string_bytes);
}
