// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_control test_session_of_control
#define djs_fail test_session_of_fail
#define djs_gate test_session_gate
#define djs_mechanisms_begin test_session_of_mechanisms_begin
#define djs_more_actions test_session_more_actions
#define djs_overwrite test_session_overwrites
#define djs_report_error test_session_of_report_error
#define djs_request_exit test_session_of_request_exit
#define djs_rest test_session_of_rest
#define djs_session_abandoned test_session_abandoned
#define djs_session_close_gate test_session_of_session_close_gate
#define djs_session_ctx test_session_context
#define djs_session_message test_session_of_session_message
#define djs_session_rearm test_session_rearm
#define djs_session_set_state test_session_of_session_set_state
#define djs_session_start test_session_start
#define djs_session_stop test_session_stop
#define djs_session_stop_soon test_session_of_session_stop_soon
#define djs_sites_arm test_session_of_sites_arm
#define djs_sites_disarm test_session_of_sites_disarm
#define djs_sites_rearm test_session_of_sites_rearm
#include "kernel_for_test.h"

#include "linux/mutex.h"

#include "log_for_test.h"
#include "session_for_test.h"

char test_session_log[1024];
#define note(...) log_for_test(test_session_log, sizeof(test_session_log), __VA_ARGS__)

void (*test_session_opened)(void);
#undef smp_mb
#define smp_mb() (test_session_opened ? test_session_opened() : (void)0)
void djs_fail(struct djs_ctx* ctx, const char* message, u32 place);

#include "control/session.c"

struct djs_control_page test_session_control;
struct djs_control_page* djs_control = &test_session_control;
u32 test_session_gate;
bool test_session_overwrites;
int test_session_arm_error;
struct djs_ctx test_session_context;
const char* test_session_rest_error;

LOG_SESSION_MESSAGES(test_session_log)

/* What one transition of the session does, no other one does at the same time. */
static void expect_lock(void) {
    if (!session_life.is_held)
        abort();
}

void djs_session_set_state(enum djs_state state) {
    static const char* const names[] = {"loaded", "starting", "running", "stopping", "stopped"};

    expect_lock();
    djs_control->state = state;
    note("%s ", names[state]);
}

void djs_session_stop_soon(void) {
    note("stop-soon ");
}

void djs_session_close_gate(void) {
    expect_lock();
    note("close ");
}

int djs_sites_arm(void) {
    expect_lock();
    note("arm ");
    return test_session_arm_error;
}

void djs_sites_rearm(void) {
    expect_lock();
    note("rearm ");
}

void djs_sites_disarm(void) {
    expect_lock();
    note("disarm ");
}

void djs_mechanisms_begin(void) {
    expect_lock();
    note("gate(%#x) ", test_session_gate);
}

void djs_request_exit(bool error) {
    djs_control->exit_requested = 1;
    djs_control->error |= error;
}

void djs_rest(struct djs_ctx* ctx) {
    note("rest ");
    ctx->error = test_session_rest_error;
}

void djs_fail(struct djs_ctx* ctx, const char* message, u32 place) {
    ctx->error = message;
    ctx->error_place = place;
}

void djs_report_error(struct djs_ctx* ctx) {
    note("%s ", ctx->error);
}

void test_session_begin(void) {
    memset(&test_session_control, 0, sizeof(test_session_control));
    memset(&test_session_context, 0, sizeof(test_session_context));
    test_session_log[0] = 0;
    test_session_gate = 0;
    test_session_overwrites = not_probed = false;
    test_session_arm_error = 0;
    test_session_rest_error = NULL;
    test_session_opened = NULL;
}
