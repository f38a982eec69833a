// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this. */
#define djs_control test_report_control
#define djs_traced_pid test_report_traced_pid
#define djs_traced_executes test_report_traced_executes
#define djs_gate test_report_gate
#define djs_session_ctx test_report_session_ctx
#define djs_session_stop_soon test_report_stop_soon
#define djs_session_init test_report_init
#define djs_session_exit test_report_exit
#define djs_session_set_state test_report_set_state
#define djs_session_close_gate test_report_close_gate
#define djs_request_exit test_report_request_exit
#define djs_report_error test_report_error
#define djs_error_count test_report_error_count
#define djs_session_message test_report_message
#define djs_message_alone test_report_message_alone
#define djs_reader_wake test_report_reader_wake
#define djs_reader_attached test_report_reader_attached
#define djs_record_text test_report_record_text
#define djs_ring_bytes test_report_ring_bytes
#define djs_overwrite test_report_overwrite
#include "kernel_for_test.h"

#include "log_for_test.h"
#include "report_for_test.h"

char test_report_log[1024];
#define note(...) log_for_test(test_report_log, sizeof(test_report_log), __VA_ARGS__)

static struct irq_work* interrupt;
static struct work_struct* queued;
#undef nr_cpu_ids
#define nr_cpu_ids 3
#undef get_zeroed_page
#define get_zeroed_page(flags) ((unsigned long)test_allocate_as(1, PAGE_SIZE, 0, flags))
#undef free_page
#define free_page(page) guarded_free((void*)(page))
#undef queue_work
#define queue_work(queue, work) ((void)(queued = (work)))
#undef cancel_work_sync
#define cancel_work_sync(work) (test_may_sleep(), (void)(queued = NULL))
#undef irq_work_queue
#define irq_work_queue(work) ((void)(interrupt = (work)))
/* Whoever waits for an interrupt sees it come. */
#undef irq_work_sync
#define irq_work_sync(work) (test_may_sleep(), (void)test_report_interrupt())
#undef pr_warn
#define pr_warn(...) note(__VA_ARGS__)

#include "state/report.c"

bool test_report_has_reader, test_report_is_full, djs_overwrite;
u64 djs_ring_bytes;

static char text_of_messages[512];

void djs_reader_wake(void) {
    note("wake\n");
}

bool djs_reader_attached(void) {
    return test_report_has_reader;
}

/* Another context than the session's is somebody's only while nobody else runs on the CPU. */
bool djs_record_text(struct djs_ctx* ctx, u32 id, const char* text, s64 number) {
    const bool is_message = ctx->level == DJS_LEVEL_SESSION && ctx != &djs_session_ctx;

    note("%s: %s (%lld)%s\n", id == DJS_RECORD_ERROR ? "error" : "warning", text, (long long)number,
         is_message && !test_preempt_depth ? ", where others may run" : "");
    return !test_report_is_full;
}

bool test_report_interrupt(void) {
    struct irq_work* work = interrupt;

    interrupt = NULL;
    if (work) {
        test_atomic_depth++;
        work->run(work);
        test_atomic_depth--;
    }
    return work;
}

bool test_report_work(void) {
    struct work_struct* work = queued;

    queued = NULL;
    if (work)
        work->run(work);
    return work;
}

void test_report_begin(void) {
    interrupt = NULL;
    queued = NULL;
    test_report_has_reader = test_report_is_full = djs_overwrite = false;
    djs_ring_bytes = 8192;
    djs_gate = DJS_HANDLER_IRQS_OFF;
    memset(&djs_session_ctx, 0, sizeof(djs_session_ctx));
    djs_session_ctx.level = DJS_LEVEL_SESSION;
    djs_session_ctx.error_text = text_of_messages;
    test_report_log[0] = 0;
}
