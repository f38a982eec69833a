// SPDX-License-Identifier: GPL-2.0-or-later
// Reads for handlers without a context: codegen/reads.cpp. Kernel memory is read by an instruction
// of the handler itself; this is the rest.
#include "access/access.h"
#include "cpu/level.h"

noinline DJS_HANDLER_CODE void djs_fail_read_alone(u64 address, u32 size, u32 place)
{
	char message[DJS_ACCESS_MESSAGE];

	if (READ_ONCE(djs_gate) & DJS_HANDLER_CHECKS_STATE)
		return;
	djs_describe_number(message, "read", address, size, djs_is_user(address));
	djs_fail_alone(message, place);
}

DJS_HANDLER_CODE struct djs_loaded djs_load_alone(u64 address, u32 size)
{
	struct djs_loaded loaded = {.status = 1};
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
		loaded.status = djs_read_number(address, size, &loaded.value) ? 0 : -1;
		barrier();
		WRITE_ONCE(ctx->busy, 0);
	}
	preempt_enable_notrace();
	return loaded;
}
