// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that a script's embedded C code calls.
#include "access/access.h"
#include "include/embedded.h"

DJS_HANDLER_CODE void djs_embedded_error(struct djs_ctx *ctx, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	djs_vfail_text(ctx, DJS_NO_PLACE, format, arguments);
	va_end(arguments);
}

DJS_HANDLER_CODE bool djs_embedded_read(struct djs_ctx *ctx, char *to, u64 address, size_t size)
{
	size_t done, step;
	u64 value;

	for (done = 0; done < size; done += step) {
		step = size - done >= sizeof(value) ? sizeof(value) : 1;
		if (!djs_read_number(address + done, step, &value)) {
			djs_fail_number(ctx, "read", address + done, step,
					djs_is_user(address + done), DJS_NO_PLACE);
			return false;
		}
		if (to)
			memcpy(to + done, &value, step);
	}
	return true;
}

DJS_HANDLER_CODE void djs_embedded_print(struct djs_ctx *ctx, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ctx->work, DJS_WORK_BYTES, format, arguments);
	va_end(arguments);
	djs_record_text(ctx, DJS_RECORD_TEXT, ctx->work, 0);
}
