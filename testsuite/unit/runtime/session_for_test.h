/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session's life in the kernel (runtime/control/session.c), where others end it meanwhile. */
#ifndef DJSTAP_SESSION_FOR_TEST_H
#define DJSTAP_SESSION_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* A word for each call, and the text of each message. */
extern char test_session_log[1024];
extern struct djs_control_page test_session_control;
extern u32 test_session_gate;
extern bool test_session_overwrites;
extern int test_session_arm_error;
extern struct djs_ctx test_session_context; /* of begin and end probes */
extern const char* test_session_rest_error; /* what a rest ends with */
/* Called when the gate has been opened, before it is known that nobody wants the session to end. */
extern void (*test_session_opened)(void);

void test_session_begin(void);
int test_session_start(void);
void test_session_stop(void);
void test_session_rearm(void);
void test_session_abandoned(void);
u32 test_session_more_actions(struct djs_ctx* ctx, u32 place);
#ifdef __cplusplus
}
#endif
#endif
