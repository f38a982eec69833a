// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language about tasks, time, and places: the process is djstap's own.
// Functions that are not here need a kernel (userspace/symbols.c lists all that exist).
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "userspace/internal.h"

#define PROCESS(name, value)                                                                       \
	s64 djs_fn_##name(struct djs_ctx *ctx)                                                     \
	{                                                                                          \
		(void)ctx;                                                                         \
		return (s64)(value);                                                               \
	}

/* Only in a program (runtime/injected). */
static bool is_in_function(const struct djs_ctx *ctx)
{
	return ctx->handler->kind == DJS_HANDLER_ENTRY || ctx->handler->kind == DJS_HANDLER_RETURN;
}

PROCESS(pid, getpid())
PROCESS(tid, gettid())
PROCESS(ppid, getppid())
PROCESS(pgrp, getpgrp())
PROCESS(sid, getsid(0))
PROCESS(uid, getuid())
PROCESS(euid, geteuid())
PROCESS(gid, getgid())
PROCESS(egid, getegid())
PROCESS(cpu, sched_getcpu())
PROCESS(target, djs_traced_pid)
PROCESS(stp_pid, getpid())
PROCESS(is_return, ctx->handler->kind == DJS_HANDLER_RETURN)
PROCESS(user_mode, is_in_function(ctx))
PROCESS(registers_valid, 0)

void djs_fn_pp(struct djs_ctx *ctx, char *out)
{
	if (ctx->site)
		djs_site_point(ctx->site, out, djs_script.string_bytes);
	else
		djs_return_text(out, "");
}

void djs_fn_pn(struct djs_ctx *ctx, char *out)
{
	if (ctx->site)
		djs_site_name(ctx->site, out, djs_script.string_bytes);
	else
		djs_return_text(out, "");
}

void djs_fn_probefunc(struct djs_ctx *ctx, char *out)
{
	const bool has_name = ctx->site && is_in_function(ctx);

	djs_return_text(out, has_name ? djs_site_text(ctx->site->function) : "");
}

void djs_fn_ppfunc(struct djs_ctx *ctx, char *out)
{
	djs_fn_probefunc(ctx, out);
}

void djs_fn_probe_type(struct djs_ctx *ctx, char *out)
{
	const bool timer = ctx->handler->kind == DJS_HANDLER_TIMER;

	if (is_in_function(ctx)) {
		djs_return_text(out, "process_jump");
		return;
	}
	djs_return_text(out, !timer ? "begin_end"
			     : strncmp(djs_site_text(ctx->site->point), "timer.jiffies", 13) == 0
				 ? "timer"
				 : "hrtimer");
}

s64 djs_fn_returnval(struct djs_ctx *ctx)
{
	if (ctx->handler->kind == DJS_HANDLER_RETURN)
		return (s64)ctx->return_value;
	djs_fail(ctx, "returnval() is available only in return probes", DJS_NO_PLACE);
	return 0;
}

/* ---- clocks ---- */

static s64 nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (s64)now.tv_sec * 1000000000 + now.tv_nsec;
}

PROCESS(__is_compat_task, 0) /* no scripts run in 32-bit programs */
PROCESS(gettimeofday_ns, nanoseconds(CLOCK_REALTIME))
PROCESS(ktime_get_ns, nanoseconds(CLOCK_MONOTONIC))
PROCESS(local_clock_ns, nanoseconds(CLOCK_MONOTONIC_RAW))
PROCESS(get_cycles, djs_cycles())
PROCESS(jiffies, nanoseconds(CLOCK_MONOTONIC) / (1000000000 / DJS_USER_HZ))
PROCESS(HZ, DJS_USER_HZ)

s64 djs_fn_cpu_clock_ns(struct djs_ctx *ctx, s64 cpu)
{
	if (cpu >= 0 && cpu < sysconf(_SC_NPROCESSORS_CONF))
		return nanoseconds(CLOCK_MONOTONIC_RAW);
	djs_fail_text(ctx, DJS_NO_PLACE, "cpu %lld is not online", (long long)cpu);
	return 0;
}
