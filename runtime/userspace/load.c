// SPDX-License-Identifier: GPL-2.0-or-later
// The life of a script in this process; control/session.c implements its session.
#include "access/access.h"
#include "context/context.h"
#include "control/arming.h"
#include "globals/globals.h"
#include "include/control.h"
#include "userspace/internal.h"

struct djs_script djs_script;
struct djs_user_options djs_user_settings;

static char complaint[256];

void djs_user_complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	complaint[strcspn(complaint, "\n")] = 0;
}

const char *djs_user_complaint(void)
{
	return complaint;
}

int djs_user_load(const struct djs_script *script, const struct djs_user_options *options)
{
	int error;

	djs_script = *script;
	djs_user_settings = *options;
	djs_traced_pid = options->traced_pid;
	complaint[0] = 0;
	djs_access_init();
	error = djs_user_rings_init(options->ring_bytes);
	if (error) {
		djs_error("no memory for the record buffers");
		return error;
	}
	error = djs_contexts_init();
	if (error)
		goto no_contexts;
	error = djs_globals_init();
	if (error)
		goto no_globals;
	error = djs_session_init(djs_session_stop);
	if (!error)
		return 0;

	djs_globals_exit();
no_globals:
	djs_contexts_exit();
no_contexts:
	djs_user_rings_exit();
	return error;
}

void djs_user_unload(void)
{
	djs_conditions_exit();
	djs_session_exit();
	djs_globals_exit();
	djs_contexts_exit();
	djs_user_rings_exit();
}

int djs_user_exit_requested(void)
{
	return READ_ONCE(djs_control->exit_requested) != 0;
}

int djs_user_failed(void)
{
	return READ_ONCE(djs_control->error) != 0;
}

void djs_user_counts(struct djs_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	counts->lost_records = DJS_CPU_SUM(lost);
	counts->oversized = DJS_CPU_SUM(oversized);
	counts->skipped_busy = DJS_CPU_SUM(skipped_busy);
	counts->skipped_locked = DJS_CPU_SUM(skipped_locked);
	counts->errors = djs_error_count();
}

const struct djs_user_calls djs_user_runtime = {
    .load = djs_user_load,
    .unload = djs_user_unload,
    .start = djs_session_start,
    .stop = djs_session_stop,
    .exit_requested = djs_user_exit_requested,
    .failed = djs_user_failed,
    .next_timer = djs_user_next_timer,
    .run_due = djs_user_run_due,
    .ring = djs_user_ring,
    .ring_head = djs_user_ring_head,
    .counts = djs_user_counts,
    .complaint = djs_user_complaint,
};

/* The reader is the process itself. */
bool djs_reader_attached(void)
{
	return true;
}

void djs_reader_wake(void)
{
}
