/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf events (runtime/perf/) of CPUs and tasks that are made up, and of programs that a test says
 * they run. */
#ifndef DJSTAP_PERF_FOR_TEST_H
#define DJSTAP_PERF_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_PERF_SITES = 4, TEST_PERF_CPUS = 3, TEST_PERF_TASKS = 300 };

struct test_perf_site {
    bool wanted;
    /* What has become of it. */
    bool armed, has_data;
    int error;
};
extern struct test_perf_site test_perf_sites[TEST_PERF_SITES];

struct test_perf_cpu {
    bool online;
    bool leaves; /* when it is to get an event */
    int error;   /* of each event that it is to get */
};
extern struct test_perf_cpu test_perf_cpus[TEST_PERF_CPUS];
extern u32 test_perf_cpu; /* on which the test is */

struct test_perf_task {
    const char* program;  /* NULL: there is no such task */
    const char* executes; /* when it is to get an event */
    int error;            /* of each event that it is to get; -ESRCH: it is gone then */
    bool is_target;       /* the process of -c or -x */
    bool is_new;          /* it is not running yet */
};
extern struct test_perf_task test_perf_tasks[TEST_PERF_TASKS];
extern int test_perf_anchor_error;

/* A line for each event that is made or released, and for each message. */
extern char test_perf_log[65536];
/* The errors of what is asked of the rest of the runtime; 0: none. */
extern int test_perf_works_error, test_perf_work_error, test_perf_events_error, test_perf_error;
extern int test_perf_process; /* the number of the process of each task that executes a program */

void test_perf_begin(void);
int test_perf_attach(void);
void test_perf_disarm(void);
void test_perf_free(void);
s64 test_perf_read(u32 counter);
u64 test_perf_not_followed(void);
void test_perf_be_task(u32 number);
/* Returns the number of the task's work that was added and has not been done; -1: none. */
int test_perf_next_work(void);
void test_perf_do_works(void);
void test_perf_executes(u32 task, const char* program);
void test_perf_forks(u32 parent, u32 child);

/* Events have numbers, from 0 on. */
bool test_perf_event_exists(u32 number);
bool test_perf_can_overflow(u32 number);
void test_perf_overflow(u32 number, struct pt_regs* regs);
/* `here`: what the processor has counted; it is that of this CPU, if on_cpu is true. */
void test_perf_counts(u32 number, s64 kept, s64 here, u32 on_cpu);
/* Its task has exited; that many still have inherited it. */
void test_perf_is_over(u32 number, int state, u32 others);
/* A program opens events of its own, which are newer. */
void test_perf_opens(u32 task, u32 context, u32 count);
/* A new event of the task is in the second context. */
extern bool test_perf_is_second;
/* Each event that has a handler overflows when it has been made, and when it is to be released. */
extern bool test_perf_overflows;
/* When somebody has looked up a context of one of these tasks, they exchange theirs. */
extern int test_perf_exchanged[2];
u32 test_perf_references(void);
#ifdef __cplusplus
}
#endif
#endif
