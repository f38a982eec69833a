/* SPDX-License-Identifier: GPL-2.0-or-later */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM traced

#if !defined(TRACED_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACED_H
#include <linux/tracepoint.h>

TRACE_EVENT(traced_step, TP_PROTO(int number, const char* name), TP_ARGS(number, name),
            TP_STRUCT__entry(__field(int, number)), TP_fast_assign(__entry->number = number;),
            TP_printk("%d", __entry->number));

/* Not an event: tracefs does not show it, and it belongs to no system.
 * Newer kernels add _tp to its name. */
#if defined(DECLARE_TRACE_EVENT) && !defined(TRACE_HEADER_MULTI_READ)
#define trace_traced_bare trace_traced_bare_tp
#endif
DECLARE_TRACE(traced_bare, TP_PROTO(int number), TP_ARGS(number));
#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE traced
#include <trace/define_trace.h>
