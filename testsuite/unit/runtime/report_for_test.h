/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What handlers tell the session, and the session its reader (runtime/state/report.c), where a test
 * runs what is queued. */
#ifndef DJSTAP_REPORT_FOR_TEST_H
#define DJSTAP_REPORT_FOR_TEST_H

#include "include/control.h"
#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* state/state.h */
int test_report_init(void (*stop)(void));
void test_report_exit(void);
void test_report_set_state(enum djs_state state);
void test_report_request_exit(bool error);
void test_report_error(struct djs_ctx* ctx);
u32 test_report_error_count(void);
void test_report_message(u32 id, const char* format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
void test_report_message_alone(const char* text);
extern struct djs_control_page* test_report_control;
extern u32 test_report_gate;

/* Of 3 CPUs with rings of 8192 bytes, for a reader that is not there. */
void test_report_begin(void);
extern bool test_report_has_reader, test_report_is_full, test_report_overwrite;
/* What was queued; false: nothing. */
bool test_report_interrupt(void);
bool test_report_work(void);
extern char test_report_log[1024];
#ifdef __cplusplus
}
#endif
#endif
