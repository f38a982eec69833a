// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language about the process that the C library answers: its name, its time
// zone, its machine.
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "userspace/internal.h"
#include "userspace/kernel.h"

static struct tm local_time(void)
{
	time_t now = time(NULL);
	struct tm local = {0};

	localtime_r(&now, &local);
	return local;
}

s64 djs_fn_tz_gmtoff(struct djs_ctx *ctx)
{
	(void)ctx;
	return -local_time().tm_gmtoff;
}

void djs_fn_tz_name(struct djs_ctx *ctx, char *out)
{
	(void)ctx;
	djs_return_text(out, local_time().tm_zone);
}

void djs_fn_host_name(struct djs_ctx *ctx, char *out)
{
	struct utsname names;

	(void)ctx;
	djs_return_text(out, uname(&names) ? "" : names.nodename);
}

void djs_fn_execname(struct djs_ctx *ctx, char *out)
{
	char name[16] = "";

	(void)ctx;
	prctl(PR_GET_NAME, name);
	djs_return_text(out, name);
}

void djs_fn_pexecname(struct djs_ctx *ctx, char *out)
{
	char path[32], name[16] = "";
	FILE *file;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = 0;
		fclose(file);
	}
	djs_return_text(out, name);
}

s64 djs_fn_addr(struct djs_ctx *ctx)
{
	(void)ctx;
	return 0;
}

s64 djs_fn_long_arg(struct djs_ctx *ctx, s64 n)
{
	djs_fail_text(ctx, DJS_NO_PLACE, "argument %ld is not available here", n);
	return 0;
}
