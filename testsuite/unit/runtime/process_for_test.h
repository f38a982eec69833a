/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites of processes' lives and system calls, and a kernel that tells of them, for the test of
 * runtime/process/. The tasks are those of programs_for_test.h. */
#ifndef DJSTAP_PROCESS_FOR_TEST_H
#define DJSTAP_PROCESS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sites of djs_script, which are all wanted and not armed. */
void test_process_sites(void);
void test_process_want(u32 site, bool wanted);
bool test_process_armed(u32 site);
int test_process_error(u32 site);
int test_process_attach(void);
void test_process_begin(void);
void test_process_disarm(void);
void test_process_detach(void);
void test_process_free(void);
/* Called with the number of the handler that runs, and its task's number. */
extern void (*test_process_ran)(u32 handler, s32 thread);

/* How many tasks of programs_for_test.h exist, from 0 on. */
extern u32 test_tasks_exist;
u32 test_task_references(void);
/* Of a task's process so many threads live. */
void test_threads_live(u32 task, int count);
/* What the kernel tells, if it was asked to; false: it was not. */
bool test_executes(u32 task, s32 old_number);
bool test_forks(u32 parent, u32 child);
bool test_exits(u32 task);
bool test_calls(u32 task, long number);
/* Returns the result that the program sees. */
long test_call_returns(u32 task, long number, long result);
bool test_is_told(const char* event);
extern bool test_is_compat;
extern int test_events_error; /* asking fails */

/* Of the work that was added last: its memory may be waited for; the kernel warns if there is none.
 */
extern bool test_process_add_may_sleep, test_process_add_warns;
/* On its way to user mode a task does what it is to do; returns how much that is. */
u32 test_to_user_mode(u32 task);
extern int test_works_error; /* works cannot be opened */
bool test_process_works_are_open(void);
extern u32 test_process_works_freed; /* how often */
extern bool test_process_has_context;

#ifdef __cplusplus
}
#endif
#endif
