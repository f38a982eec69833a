/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session's state, as handlers see and change it: its control page, errors, messages, exit
 * requests. */
#ifndef DJSTAP_STATE_H
#define DJSTAP_STATE_H

#include "record/rings.h"

extern struct djs_control_page *djs_control;
extern s32 djs_traced_pid;
extern bool djs_traced_executes; /* djs_traced_pid has not executed its program yet */

/* Flags of handlers that make djs_enter take its slow path: DJS_HANDLER_IRQS_OFF always,
 * DJS_HANDLER_CHECKS_STATE unless the session is running, DJS_HANDLER_MAY_LINGER after the
 * session; and DJS_GATE_NO_INLINE_LOCKS. */
extern u32 djs_gate;
static inline void djs_gate_add(u32 flags) /* any context */
{
	u32 old;

	do
		old = READ_ONCE(djs_gate);
	while (cmpxchg(&djs_gate, old, old | flags) != old);
}
extern struct djs_ctx djs_session_ctx; /* for begin, end, error and the session's own messages */
/* ctx->work holds stack traces and symbol names; it is followed by the string that tokenize() works
 * on, then by ctx->error_text, then by ctx->embedded. */
#define DJS_WORK_BYTES 2560
static inline u32 djs_error_bytes(void)
{
	return max_t(u32, djs_script.string_bytes, 256);
}
static inline size_t djs_work_bytes(void)
{
	return DJS_WORK_BYTES + ALIGN(djs_script.string_bytes, 64) + ALIGN(djs_error_bytes(), 64) +
	       ALIGN(djs_script.embedded_bytes, 64);
}
static inline void djs_work_init(struct djs_ctx *ctx, char *memory)
{
	ctx->work = memory;
	ctx->error_text = memory + DJS_WORK_BYTES + ALIGN(djs_script.string_bytes, 64);
	ctx->embedded = ctx->error_text + ALIGN(djs_error_bytes(), 64);
}
#define DJS_NO_PLACE (~0u) /* an error whose place the caller knows, or whose place is unknown */

/* `stop` is called in a task when the session must end and no reader does it. */
int djs_session_init(void (*stop)(void));
void djs_session_exit(void);
/* Schedules a call of `stop`. */
void djs_session_stop_soon(void);
void djs_session_set_state(enum djs_state state);
void djs_session_close_gate(void);
/* exit() or a fatal error: closes the gate and makes the reader, or a work item, stop the session.
 * NMI-safe. */
void djs_request_exit(bool error);
/* Emits a message of the session itself: a record, and a line in the kernel log. Task context. */
void djs_session_message(u32 id, const char *format, ...) __printf(2, 3);
/* The same for a constant string, at any time. Task context. */
void djs_message_alone(const char *text);
/* Counts an error and reports it as a record; too many errors end the session. Any context. */
void djs_report_error(struct djs_ctx *ctx);
u32 djs_error_count(void);

#endif
