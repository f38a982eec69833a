// SPDX-License-Identifier: GPL-2.0-or-later
// One of everything: begin, djprobes, a kprobe, a kretprobe, a timer, a map, a per-CPU statistic,
// end.
#include "script.h"

static DEFINE_PER_CPU(s64, counter);
static struct djs_map *map;
static s64 ticks;
static u32 *order;

static void begin(struct djs_ctx *ctx)
{
	print_long(ctx, 0, djs_fn_target(ctx));
}

DIRECT(on_getppid)
DIRECT(on_umask)

static const struct djs_handler handlers[];
static const struct djs_site sites[];

void on_getppid(u64 a0, u64 a1)
{
	this_cpu_inc(counter);
	djs_statistic_record(0, 3);
}

static void print_umask(struct djs_ctx *ctx, u64 regs)
{
	s64 mask = djs_load(ctx, regs + offsetof(struct pt_regs, di), 8, 0);
	struct djs_record *record;
	s64 *element;
	u32 size;

	djs_fn_execname(ctx, ctx->scratch);
	element = djs_map_insert_long(map, mask & 7);
	if (element)
		*element += 1;
	size = sizeof(*record) + 8 + text_bytes(ctx->scratch);
	record = djs_reserve(ctx, 1, size);
	if (!record)
		return;
	put_text(put_long((char *)(record + 1), mask), ctx->scratch);
	djs_commit(ctx, record, size);
}

void on_umask(u64 a0, u64 a1)
{
	struct djs_ctx *ctx = djs_enter(&handlers[2], &sites[2]);

	if (!ctx)
		return;
	print_umask(ctx, a0);
	djs_leave(ctx);
}

static void umask_body(struct djs_ctx *ctx)
{
	print_umask(ctx, ctx->regs->di);
}

static void getppid_body(struct djs_ctx *ctx)
{
	on_getppid(0, 0);
}

static void on_getsid(struct djs_ctx *ctx)
{
	struct djs_record *record;
	char *symbol = ctx->scratch + 128;
	u32 size;

	djs_fn_probefunc(ctx, ctx->scratch);
	djs_fn_symname(ctx, symbol, djs_fn_addr(ctx));
	size = sizeof(*record) + text_bytes(ctx->scratch) + text_bytes(symbol);
	record = djs_reserve(ctx, 2, size);
	if (!record)
		return;
	put_text(put_text((char *)(record + 1), ctx->scratch), symbol);
	djs_commit(ctx, record, size);
	djs_fn_print_backtrace(ctx);
}

static void getpgid_entry(struct djs_ctx *ctx)
{
	ctx->saved[0] = djs_load(ctx, ctx->regs->di + offsetof(struct pt_regs, di), 8, 0);
}

static void getpgid_return(struct djs_ctx *ctx)
{
	u32 size = sizeof(struct djs_record) + 16;
	struct djs_record *record = djs_reserve(ctx, 3, size);

	if (!record)
		return;
	put_long(put_long((char *)(record + 1), ctx->return_value), ctx->saved[0]);
	djs_commit(ctx, record, size);
}

static void tick(struct djs_ctx *ctx)
{
	ticks++;
}

static void end(struct djs_ctx *ctx)
{
	u32 size = sizeof(struct djs_record) + 40;
	struct djs_record *record;
	struct djs_statistic *total = (struct djs_statistic *)ctx->scratch;

	djs_statistic_read(0, total);
	record = djs_reserve(ctx, 4, size);
	if (!record)
		return;
	put_long(put_long(put_long(put_long(put_long((char *)(record + 1), djs_counter_read(0)),
					    !!ticks),
				   djs_map_count(map)),
			  total->count),
		 total->sum);
	djs_commit(ctx, record, size);
}

static const struct djs_lock_use umask_locks[] = {{0, 1}};

static const struct djs_handler handlers[] = {
    {.body = begin, .kind = DJS_HANDLER_BEGIN},
    {.body = getppid_body, .kind = DJS_HANDLER_ENTRY},
    {.body = umask_body,
     .kind = DJS_HANDLER_ENTRY,
     .locks = umask_locks,
     .lock_count = 1,
     .flags = DJS_HANDLER_CHECKS_STATE | DJS_HANDLER_IRQS_OFF,
     .max_actions = 1000},
    {.body = on_getsid, .kind = DJS_HANDLER_ENTRY, .flags = DJS_HANDLER_CHECKS_STATE},
    {.body = getpgid_return,
     .entry = getpgid_entry,
     .saved = 1,
     .kind = DJS_HANDLER_RETURN,
     .flags = DJS_HANDLER_CHECKS_STATE},
    {.body = tick, .kind = DJS_HANDLER_TIMER, .timer_ns = 5000000, .timer_random_ns = 1000000},
    {.body = end, .kind = DJS_HANDLER_END},
};

static const struct djs_target targets[] = {{.direct = on_getppid_direct},
					    {.direct = on_umask_direct}};

static const struct djs_site sites[] = {
    {.handler = 0, .point = "begin"},
    {.address = SITE_getppid,
     .entry = ADDRESS_getppid,
     .fallback = AFTER_getppid,
     .handler = 1,
     .target = 0,
     .next = DJS_NO_INDEX,
     .mechanism = DJS_MECHANISM_DJPROBE,
     .point = "kernel.function(\"sys_getppid\")",
     .function = "__x64_sys_getppid"},
    {.address = SITE_umask,
     .entry = ADDRESS_umask,
     .fallback = AFTER_umask,
     .handler = 2,
     .target = 1,
     .next = DJS_NO_INDEX,
     .mechanism = DJS_MECHANISM_DJPROBE,
     .point = "kernel.function(\"sys_umask\")",
     .function = "__x64_sys_umask"},
    {.address = AFTER_getsid,
     .entry = ADDRESS_getsid,
     .handler = 3,
     .mechanism = DJS_MECHANISM_KPROBE,
     .point = "kernel.statement(\"sys_getsid+5\")",
     .function = "__x64_sys_getsid"},
    {.address = ADDRESS_getpgid,
     .entry = ADDRESS_getpgid,
     .handler = 4,
     .mechanism = DJS_MECHANISM_KRETPROBE,
     .point = "kernel.function(\"sys_getpgid\").return",
     .function = "__x64_sys_getpgid"},
    {.handler = 5, .mechanism = DJS_MECHANISM_TIMER, .point = "timer.ms(5).randomize(1)"},
    {.handler = 6, .point = "end"},
};

static const struct djs_map_use maps[] = {{.shape = {.key_count = 1,
						     .value_type = DJS_LONG,
						     .key_types = {DJS_LONG},
						     .capacity = 64,
						     .string_bytes = 128},
					   .map = &map}};
static const struct djs_iterator_use iterators[] = {{.map = 0, .sorts = 1, .order = &order}};
static void *statistic_copies;
static const struct djs_statistic_use statistics[] = {
    {.shape = {.bytes = sizeof(struct djs_statistic)}, .percpu = &statistic_copies}};

const struct djs_script djs_script = {
    SCRIPT_COMMON,	    .maps = maps,	 .map_count = 1,
    .iterators = iterators, .iterator_count = 1, .statistics = statistics,
    .statistic_count = 1,   .lock_count = 1,	 .counters = (s64 __force *)&counter,
    .counter_count = 1,	    .targets = targets,	 .target_count = ARRAY_SIZE(targets),
};
