// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers report to the session, and the session to its reader: errors, messages, exit
// requests.
#include <linux/irq_work.h>
#include <linux/slab.h>

#include "cpu/queue.h"
#include "state/state.h"

struct djs_control_page *djs_control;
s32 djs_traced_pid;
bool djs_traced_executes;
u32 djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
struct djs_ctx djs_session_ctx;

static void (*stop_session)(void);
static atomic_t session_errors = ATOMIC_INIT(0);

/* Not on any CPU's own queue: end probes may take long. */
static void stop_work_run(struct work_struct *work)
{
	stop_session();
}
static DECLARE_WORK(stop_work, stop_work_run);

void djs_session_stop_soon(void)
{
	queue_work(DJS_QUEUE, &stop_work);
}

static void exit_work_run(struct irq_work *work)
{
	djs_reader_wake();
	if (!djs_reader_attached())
		djs_session_stop_soon();
}
static DEFINE_IRQ_WORK(exit_work, exit_work_run);

int djs_session_init(void (*stop)(void))
{
	stop_session = stop;
	/* in user space, another script may have had some */
	atomic_set(&session_errors, 0);
	djs_control = (struct djs_control_page *)get_zeroed_page(GFP_KERNEL);
	if (!djs_control)
		return -ENOMEM;
	djs_control->abi_version = DJS_ABI_VERSION;
	djs_control->state = DJS_STATE_LOADED;
	djs_control->cpus = nr_cpu_ids;
	djs_control->ring_bytes = djs_ring_bytes;
	djs_control->overwrite = djs_overwrite;
	return 0;
}

void djs_session_exit(void)
{
	irq_work_sync(&exit_work);
	cancel_work_sync(&stop_work);
	/* a reader that maps it holds a reference of its own */
	free_page((unsigned long)djs_control);
	djs_control = NULL;
}

void djs_session_set_state(enum djs_state state)
{
	WRITE_ONCE(djs_control->state, state);
	djs_reader_wake();
}

DJS_HANDLER_CODE void djs_session_close_gate(void)
{
	djs_gate_add(DJS_HANDLER_CHECKS_STATE);
}

DJS_HANDLER_CODE void djs_request_exit(bool error)
{
	djs_session_close_gate();
	if (error)
		WRITE_ONCE(djs_control->error, 1);
	WRITE_ONCE(djs_control->exit_requested, 1);
	irq_work_queue(&exit_work);
}

DJS_HANDLER_CODE void djs_report_error(struct djs_ctx *ctx)
{
	u32 count;

	if (ctx->aborted) {
		ctx->aborted = 0;
		return;
	}
	count = atomic_inc_return(&session_errors);
	djs_record_text(ctx, DJS_RECORD_ERROR, ctx->error, ctx->error_place);
	WRITE_ONCE(djs_control->errors, count);
	if (count > djs_script.max_errors)
		djs_request_exit(true);
}

u32 djs_error_count(void)
{
	return atomic_read(&session_errors);
}

void djs_session_message(u32 id, const char *format, ...)
{
	char *text = djs_session_ctx.error_text;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, djs_error_bytes(), format, arguments);
	va_end(arguments);
	if (!djs_record_text(&djs_session_ctx, id, text, -1) || !djs_reader_attached())
		djs_warning("%s", text);
}

void djs_message_alone(const char *text)
{
	struct djs_ctx ctx = {.level = DJS_LEVEL_SESSION};

	preempt_disable_notrace();
	djs_record_text(&ctx, DJS_RECORD_WARNING, text, -1);
	preempt_enable_notrace();
	djs_warning("%s", text);
}
