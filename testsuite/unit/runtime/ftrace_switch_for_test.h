/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.ftrace_enabled (runtime/sites/ftrace_switch.c), and probes that cannot be detached
 * (runtime/sites/pin.c). */
#ifndef DJSTAP_FTRACE_SWITCH_FOR_TEST_H
#define DJSTAP_FTRACE_SWITCH_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
/* What the file contains; what is read or written at once, at most; an error of each access. */
extern char test_switch_text[8];
extern long test_switch_most;
extern int test_switch_open_error, test_switch_error;
/* There is a first process, which may have no root directory any more. */
extern bool test_switch_has_process;
void test_switch_has_no_root(void);
/* Whether the kernel refuses to set the filter, to register it, or to unregister it. */
extern int test_keeper_filter_error, test_keeper_error, test_keeper_end_error;
extern bool test_pin_is_unloaded, test_pin_ftrace_is_dead;
/* A line for each call of the kernel's functions, and each message. */
extern char test_switch_log[1024];

void test_switch_begin(void);
int test_switch_is_on(void);
int test_switch_set(bool on);
/* References to the task and its root, and open files. */
int test_switch_references(void);
int test_keep_ftrace(void);
int test_let_ftrace_go(void);

void test_pin(u32 count, int error);
bool test_pinned(void);
void test_pin_report(void);
/* Returns how often somebody slept until the test ended that; 0: nobody did. */
u32 test_pin_wait(void);
u32 test_pin_references(void); /* to the module */
#ifdef __cplusplus
}
#endif
#endif
