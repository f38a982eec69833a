// SPDX-License-Identifier: GPL-2.0-or-later
// Speculation: output that is recorded immediately but printed only if the script commits it later.
// The reader keeps it in the meantime (compiler/session/speculations.h), so handlers share only the
// number of the last speculation.
#include <linux/atomic.h>

#include "include/functions.h"
#include "record/rings.h"

static atomic64_t last_speculation = ATOMIC64_INIT(0);

DJS_HANDLER_CODE s64 djs_fn_speculation(struct djs_ctx *ctx)
{
	return atomic64_inc_return(&last_speculation);
}

DJS_HANDLER_CODE void djs_fn_speculate(struct djs_ctx *ctx, s64 id, const char *text)
{
	djs_record_text(ctx, DJS_RECORD_SPECULATION, text, id);
}

DJS_HANDLER_CODE void djs_fn_commit(struct djs_ctx *ctx, s64 id)
{
	djs_record_number(ctx, DJS_RECORD_COMMIT, id);
}

DJS_HANDLER_CODE void djs_fn_discard(struct djs_ctx *ctx, s64 id)
{
	djs_record_number(ctx, DJS_RECORD_DISCARD, id);
}
