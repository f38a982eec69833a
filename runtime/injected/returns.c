// SPDX-License-Identifier: GPL-2.0-or-later
// Returns of functions: handlers are called at their return instructions, and no stack is changed.
// What a handler needs from the function's entry is kept in a table, by the stack pointer, which is
// the same at both. As long as a frame exists, nobody else has its stack pointer, in whatever
// thread: a coroutine may return in another one. What was kept of frames that a longjmp or an
// exception has left is replaced when another frame has the same stack pointer, or the space is
// needed.
#include "arch/runtime.h"
#include "globals/globals.h"
#include "include/functions.h"
#include "injected/internal.h"
#include "userspace/kernel.h"

struct kept_call {
	u64 frame; /* KEPT_FREE, KEPT_BUSY, or of which frame and which site */
	u64 valid;
	u64 values[];
};
enum { KEPT_FREE = 0, KEPT_BUSY = 1 };
/* The kept calls that a frame's number leads to, and how many of such there are. */
#define KEPT_WAYS 8u
#define KEPT_SETS 4096u

static const struct djs_returning *returning;
static const u32 *returning_sites;
static char *kept_calls;
static u32 kept_bytes;
static u64 unmatched, replaced;

static const struct djs_handler *handler_of(u32 site)
{
	return &djs_script.handlers[djs_script.sites[site].handler];
}

int djs_injected_returns(const struct djs_returning *functions, u32 count, const u32 *sites)
{
	u32 i, most = 0;
	bool keeps = false;

	returning = functions;
	returning_sites = sites;
	for (i = 0; count && i < functions[count - 1].first + functions[count - 1].count; i++) {
		keeps |= handler_of(sites[i])->entry != NULL;
		most = max_t(u32, most, handler_of(sites[i])->saved);
	}
	if (!keeps)
		return 0;
	kept_bytes = sizeof(struct kept_call) + most * sizeof(u64);
	kept_calls = djs_arena_allocate((u64)kept_bytes * KEPT_WAYS * KEPT_SETS);
	return kept_calls ? 0 : -ENOMEM;
}

/* Returns without what was kept may also be those of calls that began before the probes. */
u64 djs_injected_unmatched(void)
{
	return min_t(u64, READ_ONCE(unmatched), READ_ONCE(replaced));
}

/* Addresses have 47 bits, and stack pointers are multiples of 8. */
static u64 frame_number(u64 stack, u32 site)
{
	return stack >> 3 | (u64)(site + 1) << 44;
}

static struct kept_call *way_of(u64 frame, u32 way)
{
	const u64 set = (frame * 0x9e3779b97f4a7c15ull) >> 40 & (KEPT_SETS - 1);

	return (struct kept_call *)(kept_calls + (set * KEPT_WAYS + way) * kept_bytes);
}

static bool take_call(struct kept_call *call, u64 expected)
{
	return __atomic_compare_exchange_n(&call->frame, &expected, (u64)KEPT_BUSY, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void put_call(struct kept_call *call, u64 frame)
{
	__atomic_store_n(&call->frame, frame, __ATOMIC_RELEASE);
}

/* Only the thread that has the frame looks for it. */
static struct kept_call *find_call(u64 frame)
{
	u32 way;

	for (way = 0; way < KEPT_WAYS; way++)
		if (READ_ONCE(way_of(frame, way)->frame) == frame &&
		    take_call(way_of(frame, way), frame))
			return way_of(frame, way);
	return NULL;
}

/* Of the frame before, or unused, or else any. */
static struct kept_call *make_call(u64 frame)
{
	static u32 turn;
	struct kept_call *call = find_call(frame);
	u32 way, first;
	u64 other;

	for (way = 0; !call && way < KEPT_WAYS; way++)
		if (take_call(way_of(frame, way), KEPT_FREE))
			call = way_of(frame, way);
	first = call ? 0 : __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED);
	for (way = 0; !call && way < KEPT_WAYS; way++) {
		struct kept_call *victim = way_of(frame, (first + way) % KEPT_WAYS);

		other = READ_ONCE(victim->frame);
		if (other <= KEPT_BUSY || !take_call(victim, other))
			continue;
		call = victim;
		__atomic_fetch_add(&replaced, 1, __ATOMIC_RELAXED);
	}
	return call;
}

static void enter_call(u32 site, u64 *registers)
{
	const struct djs_handler *handler = handler_of(site);
	const u64 frame = frame_number(djs_hit_stack(registers), site);
	struct kept_call *call = make_call(frame);
	struct djs_ctx *ctx = call ? djs_enter(handler, &djs_script.sites[site]) : NULL;

	if (!call) { /* signals' handlers have left all that the frame's number leads to */
		__atomic_fetch_add(&replaced, 1, __ATOMIC_RELAXED);
		return;
	}
	call->valid = false;
	if (ctx) {
		ctx->regs = (struct pt_regs *)registers;
		ctx->saved = call->values;
		handler->entry(ctx);
		call->valid = !ctx->error;
		ctx->regs = NULL;
		djs_leave(ctx);
	}
	put_call(call, frame);
}

static void run_return(u32 site, u64 *registers, u64 *values)
{
	const struct djs_handler *handler = handler_of(site);
	struct djs_ctx *ctx;

	if (handler->by_regs) {
		handler->by_regs(NULL, (struct pt_regs *)registers);
		return;
	}
	ctx = djs_enter(handler, &djs_script.sites[site]);
	if (!ctx)
		return;
	ctx->regs = (struct pt_regs *)registers;
	ctx->saved = values;
	ctx->returned = 1;
	ctx->return_value = *djs_hit_result(registers);
	handler->body(ctx);
	*djs_hit_result(registers) = ctx->return_value;
	ctx->returned = 0;
	ctx->regs = NULL;
	djs_leave(ctx);
}

static void leave_call(u32 site, u64 stack, u64 *registers)
{
	struct kept_call *call;

	if (!handler_of(site)->entry) {
		run_return(site, registers, NULL);
		return;
	}
	call = find_call(frame_number(stack, site));
	if (!call) {
		__atomic_fetch_add(&unmatched, 1, __ATOMIC_RELAXED);
		return;
	}
	if (call->valid)
		run_return(site, registers, call->values);
	put_call(call, KEPT_FREE);
}

static void run_returns(const struct djs_returning *function, u64 *registers)
{
	const u32 *sites = returning_sites + function->first;
	const u64 stack = djs_hit_stack(registers);
	u32 i;

	djs_pass_return(registers);
	for (i = 0; i < function->count; i++)
		leave_call(sites[i], stack, registers);
}

void djs_injected_hit(u64 *registers, u32 argument)
{
	const struct djs_returning *function;
	const u32 *sites;
	u32 i;

	if (argument == DJS_AT_LOADER) {
		djs_loader_changed();
		return;
	}
	function = &returning[argument / 2];
	if (argument & DJS_AT_RETURN) {
		run_returns(function, registers);
		return;
	}
	sites = returning_sites + function->first;
	djs_set_hit_address(registers, function->address);
	for (i = 0; i < function->count; i++)
		if (handler_of(sites[i])->entry)
			enter_call(sites[i], registers);
}
