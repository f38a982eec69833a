// SPDX-License-Identifier: GPL-2.0-or-later
// A task and its ancestors as text. A program decides how many there are.
#include <linux/sched.h>

#include "context/fields.h"
#include "include/functions.h"
#include "include/text.h"
#include "state/state.h"

#define MOST_ANCESTORS 1024
/* A name; behind it a number in parentheses, a time, or an arrow. */
#define ANCESTOR_BYTES (TASK_COMM_LEN + 64)

static DJS_HANDLER_CODE u32 put_name(struct djs_ctx *ctx, char *piece, u64 task)
{
	u64 name = task + offsetof(struct task_struct, comm);
	long length = djs_read_kernel_string(piece, name, TASK_COMM_LEN);

	if (length >= 0)
		return length;
	djs_fail_access(ctx, "read a string", name, false, DJS_NO_PLACE);
	return 0;
}

DJS_HANDLER_CODE void djs_fn_pstrace(struct djs_ctx *ctx, char *out, s64 task)
{
	u32 room = djs_script.string_bytes - 1, length = 0, steps;

	for (steps = 0; steps < MOST_ANCESTORS && length < room && !ctx->error; steps++) {
		s64 pid = (s32)FIELD_OR_FAIL(ctx, task, struct task_struct, tgid);
		char *piece = ctx->work;
		u32 bytes = 1;

		if (ctx->error || pid <= 1)
			break;
		piece[0] = ' ';
		bytes += put_name(ctx, piece + 1, task);
		bytes += djs_format(piece + bytes, ANCESTOR_BYTES - bytes, "(%d)", "l", &pid,
				    sizeof(pid));
		length += djs_text_copy(out + length, piece, room + 1 - length);
		if (!ctx->error)
			task = FIELD_OR_FAIL(ctx, task, struct task_struct, real_parent);
	}
	out[ctx->error ? 0 : length] = 0;
}

/* Writes "(1m2.345000000s)", the time from boot to the task's start; returns its length. */
static DJS_HANDLER_CODE u32 put_start(struct djs_ctx *ctx, char *piece, u32 room, u64 task)
{
	s64 start = FIELD_OR_FAIL(ctx, task, struct task_struct, start_boottime);
	s64 parts[] = {start / NSEC_PER_SEC / 60, start / NSEC_PER_SEC % 60, start % NSEC_PER_SEC};

	return djs_format(piece, room, "(%dm%d.%.9ds)", "lll", parts, sizeof(parts));
}

DJS_HANDLER_CODE void djs_fn_task_ancestry(struct djs_ctx *ctx, char *out, s64 task, s64 with_time)
{
	u32 length = 0, steps;

	for (steps = 0; !ctx->error; steps++) {
		char *piece = ctx->work;
		u32 bytes;
		s64 parent;

		if (steps == MOST_ANCESTORS) {
			length = djs_prepend(out, length, "...=>", 5);
			break;
		}
		bytes = put_name(ctx, piece, task);
		if (with_time)
			bytes += put_start(ctx, piece + bytes, ANCESTOR_BYTES - bytes, task);
		if (length)
			bytes += djs_text_copy(piece + bytes, "=>", ANCESTOR_BYTES - bytes);
		length = djs_prepend(out, length, piece, bytes);
		parent = ctx->error ? 0 : FIELD_OR_FAIL(ctx, task, struct task_struct, real_parent);
		if (!parent || parent == task)
			break;
		task = parent;
	}
	out[ctx->error ? 0 : length] = 0;
}
