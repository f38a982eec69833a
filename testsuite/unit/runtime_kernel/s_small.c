// SPDX-License-Identifier: GPL-2.0-or-later
// One djprobe, built in variants: VARIANT_ERROR (its 3rd hit fails), VARIANT_FORCED (no other
// mechanism may stand in), VARIANT_BUSY (the function may be taken), VARIANT_EXIT (its 3rd hit
// exits), VARIANT_RELEASE (made for another kernel), VARIANT_BEGIN (begin prints more than a small
// ring holds), VARIANT_FTRACE, VARIANT_JUMP, VARIANT_NESTED (its handler calls the probed
// function).
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "script.h"

static DEFINE_PER_CPU(s64, counter);
static s64 hits;

static const struct djs_handler handlers[];
static const struct djs_site sites[];

static void work(struct djs_ctx *ctx)
{
	s64 hit = ++hits;

	this_cpu_inc(counter);
#ifdef VARIANT_ERROR
	if (hit == 3) {
		djs_fail(ctx, "division by zero", 1);
		return;
	}
#endif
#ifdef VARIANT_EXIT
	if (hit == 3) {
		djs_fn_exit(ctx);
		return;
	}
#endif
	print_long(ctx, 5, hit);
}

DIRECT(on_hit)
void on_hit(u64 a0, u64 a1)
{
	struct djs_ctx *ctx = djs_enter(&handlers[0], &sites[0]);

	if (!ctx)
		return;
#ifdef VARIANT_NESTED
	{
		struct timespec64 now;

		ktime_get_real_ts64(&now);
	}
#endif
	work(ctx);
	djs_leave(ctx);
}

#ifdef VARIANT_BEGIN
static void begin(struct djs_ctx *ctx)
{
	int i;

	for (i = 0; i < 1000; i++)
		print_long(ctx, 0, i);
}
#endif

static void end(struct djs_ctx *ctx)
{
	print_long(ctx, 0, 1000 + djs_counter_read(0));
}

static void on_error(struct djs_ctx *ctx)
{
	print_long(ctx, 0, 2000 + djs_counter_read(0));
}

static const struct djs_handler handlers[] = {
    {.body = work, .kind = DJS_HANDLER_ENTRY, .flags = DJS_HANDLER_CHECKS_STATE},
    {.body = end, .kind = DJS_HANDLER_END},
    {.body = on_error, .kind = DJS_HANDLER_ERROR},
#ifdef VARIANT_BEGIN
    {.body = begin, .kind = DJS_HANDLER_BEGIN},
#endif
};

static const struct djs_target targets[] = {{.direct = on_hit_direct}};

static const struct djs_site sites[] = {
    {
#if defined(VARIANT_NESTED)
	.address = SITE_clock,
	.entry = ADDRESS_clock,
	.fallback = AFTER_clock,
#elif defined(VARIANT_JUMP)
	.address = AFTER_umask,
	.entry = ADDRESS_umask,
#else
	.address = SITE_getppid,
	.entry = ADDRESS_getppid,
	.fallback = AFTER_getppid,
#endif
#if defined(VARIANT_FTRACE)
	.mechanism = DJS_MECHANISM_FTRACE,
#elif defined(VARIANT_JUMP)
	.mechanism = DJS_MECHANISM_KPROBE_JUMP,
#else
	.mechanism = DJS_MECHANISM_DJPROBE,
#endif
#if defined(VARIANT_FORCED) || defined(VARIANT_JUMP)
	.forced = 1,
#endif
	.handler = 0,
	.target = 0,
	.next = DJS_NO_INDEX,
	.point = "kernel.function(\"sys_getppid\")",
	.function = "__x64_sys_getppid"},
    {.handler = 1, .point = "end"},
    {.handler = 2, .point = "error"},
#ifdef VARIANT_BEGIN
    {.handler = 3, .point = "begin"},
#endif
};

#ifdef VARIANT_RELEASE
#undef TEST_RELEASE
#define TEST_RELEASE "1.2.3-other"
#endif

const struct djs_script djs_script = {
    SCRIPT_COMMON,	.counters = (s64 __force *)&counter, .counter_count = 1,
    .targets = targets, .target_count = ARRAY_SIZE(targets),
};
