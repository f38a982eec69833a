/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.ftrace_enabled (runtime/sites/ftrace_switch.c). */
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
/* A line for each call of the kernel's functions, and each message. */
extern char test_switch_log[1024];

void test_switch_begin(void);
int test_switch_is_on(void);
int test_switch_set(bool on);
/* References to the task and its root, and open files. */
int test_switch_references(void);
int test_keep_ftrace(void);
int test_let_ftrace_go(void);
#ifdef __cplusplus
}
#endif
#endif
