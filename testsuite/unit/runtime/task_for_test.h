/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that run in a task, and what handlers defer (runtime/context/task.c, deferred.c), where
 * a test says when these run. */
#ifndef DJSTAP_TASK_FOR_TEST_H
#define DJSTAP_TASK_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
extern u32 test_task_gate;
extern int test_current_references; /* of the current task */
extern u32 test_task_flags;
extern bool test_task_has_memory; /* it is no thread of the kernel */
extern bool test_no_queue, test_no_context;
extern struct djs_ctx
    test_task_interrupt; /* the context of the interrupt that deferred work runs in */
/* How often its context was busy at the begin and the end of what it does. */
extern u32 test_task_hits_skipped;
/* A line for each thing that happens to tasks, queues, locks and the log. */
extern char test_task_log[2048];
#define TEST_KTHREAD 1u
#define TEST_EXITING 2u
#define TEST_CPU 5u

void test_task_begin(void);
u64 test_task_skipped(void);
/* Executes the job that was queued, or what was deferred. */
void test_run_jobs(void);
void test_run_deferred(void);
struct djs_ctx* test_task_context(void);
bool test_run_in_task(const struct djs_handler* handler, const struct djs_site* site);
bool test_is_current(const struct task_struct* task);

int djs_tasks_init(void);
void djs_tasks_exit(void);
struct djs_job* djs_job_make(const struct djs_site* site);
void djs_job_start(struct djs_job* job);
void djs_job_free(struct djs_job* job);
void djs_deferred_init(void);
void djs_deferred_finish(void);
void djs_fn_raise(struct djs_ctx* ctx, s64 signal);
void djs_fn_printk(struct djs_ctx* ctx, s64 level, const char* message);
#ifdef __cplusplus
}
#endif
#endif
