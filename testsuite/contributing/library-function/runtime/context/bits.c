// SPDX-License-Identifier: GPL-2.0-or-later
// The bits of a number.
#include "include/functions.h"
#include "state/state.h"

DJS_HANDLER_CODE s64 djs_fn_bit_position(struct djs_ctx *ctx, s64 number)
{
	if (!number) {
		djs_fail(ctx, "bit_position(): the number has no bit that is set", DJS_NO_PLACE);
		return 0;
	}
	return __builtin_ctzll((u64)number);
}
