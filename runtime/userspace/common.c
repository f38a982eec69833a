// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers and records, as far as they are the same in djstap's own process (userspace/) and in a
// probed program (injected/).
#include "context/context.h"
#include "record/rings.h"
#include "userspace/internal.h"

struct djs_cpu djs_cpu[DJS_USER_CPUS_MAX];
u64 djs_ring_bytes;
bool djs_overwrite;

u64 djs_cpu_sum(size_t field_offset)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < djs_user_cpus; i++)
		sum += READ_ONCE(*(u64 *)((char *)&djs_cpu[i] + field_offset));
	return sum;
}

void djs_count_lost(u32 size)
{
	struct djs_cpu *cpu = &djs_cpu[djs_user_cpu];

	if (size > djs_record_limit())
		cpu->oversized++;
	else
		cpu->lost++;
}

void djs_commit(struct djs_ctx *ctx, struct djs_record *record, u32 size)
{
	(void)size;
	smp_store_release(&record->size, ctx->reserved);
}

void djs_fail_alone(const char *message, u32 place)
{
	struct djs_ctx ctx = {.error = message, .error_place = place};

	djs_report_error(&ctx);
}

void djs_fail(struct djs_ctx *ctx, const char *message, u32 place)
{
	if (ctx->error)
		return;
	ctx->error = message;
	ctx->error_place = place;
}

/* Nothing waits for begin and end probes here, which alone rest. */
void djs_rest(struct djs_ctx *ctx)
{
	(void)ctx;
}

void djs_run_handler(const struct djs_handler *handler, const struct djs_site *site,
		     struct pt_regs *regs)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	(void)regs;
	if (!ctx)
		return;
	handler->body(ctx);
	djs_leave(ctx);
}
