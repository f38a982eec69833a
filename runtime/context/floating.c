// SPDX-License-Identifier: GPL-2.0-or-later
// Floating-point functions of the language; the portable part is in floating/.
#include "include/floating.h"
#include "include/functions.h"
#include "state/state.h"

DJS_STATIC_ASSERT(sizeof(struct djs_fp_work) <= DJS_WORK_BYTES, "the work area is too small");

#define OF_TWO(name, type)                                                                         \
	DJS_HANDLER_CODE s64 djs_fn_fp_##name(struct djs_ctx *ctx, s64 a, s64 b)                   \
	{                                                                                          \
		return (type)djs_fp_##name((u64)a, (u64)b);                                        \
	}

OF_TWO(add, s64)
OF_TWO(sub, s64)
OF_TWO(mul, s64)
OF_TWO(div, s64)
OF_TWO(rem, s64)
OF_TWO(eq, bool)
OF_TWO(lt, bool)
OF_TWO(le, bool)

DJS_HANDLER_CODE s64 djs_fn_fp_sqrt(struct djs_ctx *ctx, s64 a)
{
	return (s64)djs_fp_sqrt((u64)a);
}

DJS_HANDLER_CODE s64 djs_fn_long_to_fp(struct djs_ctx *ctx, s64 value)
{
	return (s64)djs_fp_from_long(value);
}

DJS_HANDLER_CODE s64 djs_fn_fp32_to_fp64(struct djs_ctx *ctx, s64 single)
{
	return (s64)djs_fp_from_single((u32)single);
}

/* No operation raises an exception: `exact` makes no difference. */
DJS_HANDLER_CODE s64 djs_fn_fp_to_long(struct djs_ctx *ctx, s64 a, s64 mode, s64 exact)
{
	return djs_fp_to_long((u64)a, mode);
}

DJS_HANDLER_CODE void djs_fn_fp_to_string(struct djs_ctx *ctx, char *out, s64 a, s64 precision)
{
	djs_fp_to_text(out, djs_script.string_bytes, (u64)a, precision,
		       (struct djs_fp_work *)ctx->work);
}

DJS_HANDLER_CODE s64 djs_fn_string_to_fp(struct djs_ctx *ctx, const char *text)
{
	u64 result = 0;

	if (!djs_fp_from_text(&result, text, (struct djs_fp_work *)ctx->work))
		djs_fail(ctx, "invalid format", DJS_NO_PLACE);
	return (s64)result;
}
