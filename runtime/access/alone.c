// SPDX-License-Identifier: GPL-2.0-or-later
// Reads for handlers without a context: codegen/reads.cpp. Kernel memory is read by an instruction
// of the handler itself; this is the rest.
#include "access/access.h"
#include "cpu/level.h"

noinline DJS_HANDLER_CODE void djs_fail_read_alone(u64 address, u32 size, u32 place)
{
	const bool process = size & DJS_READ_PROCESS;
	char message[DJS_ACCESS_MESSAGE];

	if (READ_ONCE(djs_gate) & DJS_HANDLER_CHECKS_STATE)
		return;
	size &= ~DJS_READ_PROCESS;
	if (size == DJS_READ_TEXT)
		djs_describe_access(message, "read a string", address, process);
	else
		djs_describe_number(message, "read", address, size,
				    process || djs_is_user(address));
	djs_fail_alone(message, place);
}

/* Returns this level's context, marked as busy, with preemption disabled; NULL: the hit is
 * skipped. */
static __always_inline struct djs_ctx *begin_alone(void)
{
	struct djs_ctx *ctx;

	preempt_disable_notrace();
	ctx = this_cpu_read(djs_cpu.contexts) + djs_level();
	if (ctx->busy) {
		this_cpu_inc(djs_cpu.skipped_busy);
	} else if (!djs_lacks_stack(DJS_FAULT_STACK)) {
		/* The sampling timer finds the handler by its code. */
		WRITE_ONCE(ctx->handler, NULL);
		/* as if locks were held: the handler may hold some */
		WRITE_ONCE(ctx->busy, DJS_BUSY_LOCKED);
		barrier();
		return ctx;
	}
	preempt_enable_notrace();
	return NULL;
}

static __always_inline void end_alone(struct djs_ctx *ctx)
{
	barrier();
	WRITE_ONCE(ctx->busy, 0);
	preempt_enable_notrace();
}

DJS_HANDLER_CODE struct djs_loaded djs_load_alone(u64 address, u32 size)
{
	struct djs_loaded loaded = {.status = 1};
	struct djs_ctx *ctx = begin_alone();

	if (!ctx)
		return loaded;
	loaded.status = -1;
	if (!(size & DJS_READ_PROCESS) || djs_is_user(address))
		loaded.status =
		    djs_read_number(address, size & ~DJS_READ_PROCESS, &loaded.value) ? 0 : -1;
	end_alone(ctx);
	return loaded;
}

DJS_HANDLER_CODE struct djs_loaded djs_load_words_alone(u64 address, u64 *words, u32 size)
{
	struct djs_loaded loaded = {.status = 1};
	struct djs_ctx *ctx = begin_alone();
	char *out = (char *)words;
	long length;

	if (!ctx)
		return loaded;
	length = djs_read_user_string(out, address, size + 1);
	if (length >= 0)
		memset(out + length, 0, DJS_ALIGN8((u64)size + 1) - (u64)length);
	loaded.status = length >= 0 ? 0 : -1;
	end_alone(ctx);
	return loaded;
}
