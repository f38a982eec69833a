/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works of a task that is made up, and tracepoints, for the test of runtime/tasks/. */
#ifndef DJSTAP_TASKS_FOR_TEST_H
#define DJSTAP_TASKS_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* runtime/tasks/tasks.h, for works that call test_work_runs. */
int test_works_open(void);
int test_works_add(bool may_sleep);
int test_works_try(void);
void test_works_close(void);
void test_works_free(void);
extern void (*test_work_runs)(void);

struct test_works_state {
    u32 free, running, wakes;
    bool open;
};
struct test_works_state test_works_state(void);
/* As a function that runs meanwhile closes them. */
void test_works_shut(void);
/* Somebody is adding a work, until it is waited for so many times. */
void test_works_are_added(u32 waits);
/* Other tasks are doing so many, until they are waited for. */
void test_works_run_elsewhere(u32 count);
/* Somebody else has the lock. */
void test_works_lock(bool held);

/* What the task has to do: how many works, and the number of the one that it does next. */
u32 test_task_works(void);
void test_task_runs(u32 number);
/* The same by the function that the work had when it was added. */
void test_task_runs_late(u32 number);
extern bool test_task_exits, test_is_rt;
/* How often somebody waited for all tasks that were preempted. */
extern u32 test_task_rcu_waits;
/* The kernel has task_work_add; registered kprobes that are left; times that a task waited. */
extern bool test_has_task_work;
/* The kernel knows where that is, but lets nobody probe it. */
extern bool test_kprobe_is_refused;
void test_forget_task_work(void);
extern u32 test_kprobes, test_waits;

/* Two events that there are, and one that there is not. Bits of those that are registered. */
int test_events_start(u32 count);
void test_events_stop(u32 count);
u32 test_events_registered(void);
extern u32 test_event_waits;
/* Registering this one fails; 3: none. */
extern u32 test_event_that_fails;

#ifdef __cplusplus
}
#endif
#endif
