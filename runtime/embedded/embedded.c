// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that a script's embedded C code calls.
#include <linux/sched/task_stack.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "cpu/level.h"
#include "include/embedded.h"
#include "include/functions.h"
#include "sites/sites.h"
#include "state/state.h"

DJS_HANDLER_CODE void djs_embedded_error(struct djs_ctx *ctx, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	djs_vfail_text(ctx, DJS_NO_PLACE, format, arguments);
	va_end(arguments);
}

static DJS_HANDLER_CODE bool is_in(enum djs_embedded_space space, u64 address)
{
	return space == DJS_EMBEDDED_ANYWHERE ||
	       djs_is_user(address) == (space == DJS_EMBEDDED_USER);
}

DJS_HANDLER_CODE bool djs_embedded_read_number(enum djs_embedded_space space, u64 address, u32 size,
					       u64 *value)
{
	return is_in(space, address) && djs_read_number(address, size, value);
}

DJS_HANDLER_CODE bool djs_embedded_write_number(enum djs_embedded_space space, u64 address,
						u32 size, u64 value)
{
	return is_in(space, address) && djs_write_number(address, size, value);
}

DJS_HANDLER_CODE bool djs_embedded_write_text(enum djs_embedded_space space, const char *text,
					      u64 address, size_t bytes)
{
	size_t length, i;

	if (!bytes)
		return true;
	length = strnlen(text, bytes - 1);
	for (i = 0; i < length; i++)
		if (!djs_embedded_write_number(space, address + i, 1, (u8)text[i]))
			return false;
	return djs_embedded_write_number(space, address + length, 1, 0);
}

DJS_HANDLER_CODE void djs_embedded_fail_access(struct djs_ctx *ctx, const char *verb, u64 address,
					       u32 size)
{
	djs_fail_number(ctx, verb, address, size, djs_is_user(address), DJS_NO_PLACE);
}

DJS_HANDLER_CODE size_t djs_embedded_read(char *to, u64 address, size_t size)
{
	size_t done, step;
	u64 value;

	for (done = 0; done < size; done += step) {
		step = size - done >= sizeof(value) ? sizeof(value) : 1;
		if (!djs_read_number(address + done, step, &value))
			return size - done;
		if (to)
			memcpy(to + done, &value, step);
	}
	return 0;
}

/*
 * Writes a record of C code, which may hold a lock or be within an RCU read-side section: the CPU's
 * own context never waits for room as that of begin and end probes does.
 */
static DJS_HANDLER_CODE void record_at_once(u32 id, const char *text)
{
	preempt_disable_notrace();
	djs_record_text(this_cpu_read(djs_cpu.contexts) + djs_level(), id, text, -1);
	preempt_enable_notrace();
}

DJS_HANDLER_CODE void djs_embedded_print(struct djs_ctx *ctx, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ctx->work, DJS_WORK_BYTES, format, arguments);
	va_end(arguments);
	record_at_once(DJS_RECORD_TEXT, ctx->work);
}

/* ---- CONTEXT --------------------------------------------------------------------------------- */

static DJS_HANDLER_CODE enum stp_probe_type type_of_probe(const struct djs_ctx *ctx)
{
	switch (ctx->site ? ctx->site->mechanism : DJS_MECHANISM_NONE) {
	case DJS_MECHANISM_NONE:
		return stp_probe_type_been;
	case DJS_MECHANISM_TIMER:
		return strncmp(djs_site_text(ctx->site->point), "timer.jiffies", 13)
			   ? stp_probe_type_hrtimer
			   : stp_probe_type_timer;
	case DJS_MECHANISM_PERF:
		return strncmp(djs_site_text(ctx->site->point), "timer.profile", 13)
			   ? stp_probe_type_perf
			   : stp_probe_type_profile_timer;
	case DJS_MECHANISM_TRACEPOINT:
		return stp_probe_type_tracepoint;
	case DJS_MECHANISM_MARKER:
		return stp_probe_type_marker;
	case DJS_MECHANISM_PROCFS:
		return stp_probe_type_procfs;
	case DJS_MECHANISM_NETFILTER:
		return stp_probe_type_netfilter;
	case DJS_MECHANISM_BREAKPOINT:
		return stp_probe_type_hwbkpt;
	case DJS_MECHANISM_PROCESS:
		return stp_probe_type_utrace;
	case DJS_MECHANISM_UPROBE:
		return stp_probe_type_uprobe;
	case DJS_MECHANISM_URETPROBE:
		return stp_probe_type_uretprobe;
	}
	return ctx->handler->kind == DJS_HANDLER_RETURN ? stp_probe_type_kretprobe
							: stp_probe_type_kprobe;
}

DJS_HANDLER_CODE struct context *djs_embedded_begin(struct djs_ctx *ctx)
{
	struct context *context = (struct context *)ctx->embedded;
	const u32 size = offsetof(struct context, strings) + 3 * djs_script.string_bytes;
	char *point = ctx->embedded + size;

	memset(context, 0, offsetof(struct context, strings));
	context->handler = ctx;
	context->last_error = ctx->error;
	context->probe_type = type_of_probe(ctx);
	context->user_mode_p = ctx->user_regs;
	if (ctx->user_regs)
		context->uregs = ctx->regs;
	else
		context->kregs = ctx->regs;
	djs_fn_pp(ctx, point);
	context->probe_point = point;
	ctx->embedded_used = 1;
	return context;
}

/* The code may have copied its message from an error of the runtime, or left that in place. */
DJS_HANDLER_CODE void djs_embedded_leave(struct djs_ctx *ctx)
{
	struct context *context = (struct context *)ctx->embedded;
	const char *error = context->last_error;

	context->last_error = NULL;
	if (context->aborted)
		djs_fn_abort(ctx);
	else if (error && error != ctx->error)
		djs_fail_text(ctx, DJS_NO_PLACE, "%s", error);
	context->aborted = 0;
}

/* ---- functions of SystemTap's runtime -------------------------------------------------------- */

DJS_HANDLER_CODE bool djs_embedded_is_compat(struct task_struct *task)
{
	return task->mm && !djs_is_unwindable(task_pt_regs(task));
}

DJS_HANDLER_CODE struct pt_regs *djs_embedded_user_registers(void)
{
	return current->mm ? task_pt_regs(current) : NULL;
}

DJS_HANDLER_CODE s64 djs_embedded_target(void)
{
	return djs_traced_pid;
}

DJS_HANDLER_CODE s64 djs_embedded_reader(void)
{
	return READ_ONCE(djs_reader_pid);
}

DJS_HANDLER_CODE s64 djs_embedded_time(struct djs_ctx *ctx)
{
	return djs_fn_gettimeofday_ns(ctx);
}

DJS_HANDLER_CODE s64 djs_embedded_zone_offset(void)
{
	return djs_fn_tz_gmtoff(NULL);
}

DJS_HANDLER_CODE const char *djs_embedded_zone(void)
{
	return djs_zone_name();
}

DJS_HANDLER_CODE void djs_embedded_exit(struct djs_ctx *ctx)
{
	djs_fn_exit(ctx);
}

DJS_HANDLER_CODE void djs_embedded_system(struct djs_ctx *ctx, const char *command)
{
	djs_fn_system(ctx, command);
}

/* A copy, which the next call makes again. */
DJS_HANDLER_CODE atomic_t *djs_embedded_session_state(void)
{
	static atomic_t copy;
	static const u8 states[] = {
	    [DJS_STATE_LOADED] = STAP_SESSION_UNINITIALIZED,
	    [DJS_STATE_STARTING] = STAP_SESSION_STARTING,
	    [DJS_STATE_RUNNING] = STAP_SESSION_RUNNING,
	    [DJS_STATE_STOPPING] = STAP_SESSION_STOPPING,
	    [DJS_STATE_STOPPED] = STAP_SESSION_STOPPED,
	};
	const u32 state = READ_ONCE(djs_control->state);

	atomic_set(&copy, READ_ONCE(djs_control->exit_requested) || state >= ARRAY_SIZE(states)
			      ? STAP_SESSION_STOPPING
			      : states[state]);
	return &copy;
}

DJS_HANDLER_CODE bool djs_embedded_read_text(char *to, u64 address, size_t bytes)
{
	const bool read =
	    !djs_is_user(address) && bytes && djs_read_kernel_string(to, address, bytes) >= 0;

	if (!read && bytes)
		*to = 0;
	return read;
}

/* Reads everything once before it writes anything: a fault leaves `to` as it was. */
DJS_HANDLER_CODE unsigned long djs_embedded_copy_user(char *to, u64 from, unsigned long bytes)
{
	unsigned long done, step;
	bool writes = false;
	u64 value;

	if (!djs_is_user(from) || bytes > DJS_EMBEDDED_COPY_MAX)
		return bytes ?: 1;
	do {
		for (done = 0; done < bytes; done += step) {
			step = bytes - done >= sizeof(value) ? sizeof(value) : 1;
			if (!djs_read_number(from + done, step, &value))
				return bytes;
			if (writes)
				memcpy(to + done, &value, step);
		}
		writes = !writes;
	} while (writes);
	return 0;
}

DJS_HANDLER_CODE long djs_embedded_copy_user_string(char *to, u64 from, long bytes)
{
	if (!djs_is_user(from))
		return -EFAULT;
	return bytes > 0 ? djs_read_user_string(to, from, bytes) : 0;
}

DJS_HANDLER_CODE int djs_embedded_escape(struct djs_ctx *ctx, char *to, u64 from, int bytes,
					 int room, int quoted, int user, int buffer)
{
	const u32 most = DJS_WORK_BYTES - 1;
	const u32 length = bytes <= 0 ? djs_script.string_bytes - 1 : bytes;
	char *text = ctx->work;
	bool read;

	if (buffer)
		read = djs_read_bytes(text, from, min(length, most), user);
	else if (user)
		read = djs_is_user(from) &&
		       djs_read_user_string(text, from, min(length, most) + 1) >= 0;
	else
		read = djs_read_kernel_string(text, from, min(length, most) + 1) >= 0;
	if (!read) {
		strscpy(to, "<unknown>", room + 1);
		return -EFAULT;
	}
	if (!buffer)
		return djs_text_escape(to, text, room, djs_script.string_bytes, quoted);
	return djs_text_escape_buffer(to, text, min(length, most), room, djs_script.string_bytes);
}

DJS_HANDLER_CODE int djs_embedded_argument(int n, int registers, struct pt_regs *regs, size_t word,
					   long *value)
{
	if (n < 1 || registers < 0 || registers > DJS_REGISTER_ARGUMENTS)
		return -1;
	if (n > registers) {
		*value = djs_stack_argument(regs, DJS_REGISTER_ARGUMENTS) + (n - registers) * word;
		if (!user_mode(regs))
			return 1;
		return djs_is_user(*value) ? 2 : -1; /* a program chooses its stack pointer */
	}
	if (word != sizeof(long)) /* a 32-bit program's registers have other roles */
		return -1;
	*value = djs_register_argument(regs, n);
	return 0;
}

/* For functions of the C code, which do not have CONTEXT. The text is on the stack, because whoever
 * interrupts this, or is interrupted, uses the work area of the same context. */
DJS_HANDLER_CODE void djs_embedded_warn(const char *format, ...)
{
	char text[DJS_EMBEDDED_WARNING_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	record_at_once(DJS_RECORD_WARNING, text);
}
