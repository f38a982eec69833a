// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language about the process, as userspace/process.c has them, without a C
// library.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/utsname.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "injected/internal.h"
#include "userspace/kernel.h"

s64 djs_fn_tz_gmtoff(struct djs_ctx *ctx)
{
	(void)ctx;
	return djs_arena_parts()->seconds_west;
}

void djs_fn_tz_name(struct djs_ctx *ctx, char *out)
{
	(void)ctx;
	djs_return_text(out, djs_arena_parts()->zone);
}

void djs_fn_host_name(struct djs_ctx *ctx, char *out)
{
	struct utsname names;

	(void)ctx;
	djs_return_text(
	    out, djs_syscall6(__NR_uname, (long)&names, 0, 0, 0, 0, 0) ? "" : names.nodename);
}

void djs_fn_execname(struct djs_ctx *ctx, char *out)
{
	char name[16] = "";

	(void)ctx;
	djs_syscall6(__NR_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
	djs_return_text(out, name);
}

void djs_fn_pexecname(struct djs_ctx *ctx, char *out)
{
	char path[32], name[16] = "";
	long file;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
	file = djs_syscall6(__NR_open, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
	if (file >= 0) {
		if (djs_syscall6(__NR_read, file, (long)name, sizeof(name) - 1, 0, 0, 0) > 0)
			name[strcspn(name, "\n")] = 0;
		djs_syscall6(__NR_close, file, 0, 0, 0, 0, 0);
	}
	djs_return_text(out, name);
}

/* Of the probed instruction. */
s64 djs_fn_addr(struct djs_ctx *ctx)
{
	return ctx->site ? (s64)djs_site_run_address(ctx->site) : 0;
}

s64 djs_fn_long_arg(struct djs_ctx *ctx, s64 n)
{
	const u64 *registers = (const u64 *)ctx->regs;
	u64 value = 0;

	if (!registers || ctx->returned || n < 1 || n > 64)
		djs_fail_text(ctx, DJS_NO_PLACE, "argument %ld is not available here", n);
	else if (n <= DJS_REGISTER_ARGUMENTS)
		value = djs_argument_in_register(registers, n);
	else if (djs_user_read_memory(&value, djs_argument_on_stack(registers, n), sizeof(value)))
		djs_fail_text(ctx, DJS_NO_PLACE, "argument %ld cannot be read", n);
	return (s64)value;
}
