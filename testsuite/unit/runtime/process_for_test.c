// SPDX-License-Identifier: GPL-2.0-or-later
// Lives and system calls of processes (runtime/process/), for tasks that are made up.
#include "kernel_for_test.h"

#include "linux/compat.h"
#include "linux/gfp.h"
#include "linux/list.h"
#include "linux/rcupdate.h"
#include "linux/sched/signal.h"

#include "process_for_test.h"
#include "programs_for_test.h"

struct pt_regs {
    unsigned long ip, ax;
    long number;
};
#define instruction_pointer(regs) ((regs)->ip)
#define regs_return_value(regs) ((regs)->ax)
#define regs_set_return_value(regs, value) ((void)((regs)->ax = (value)))
#define DJS_HAVE_TRACEPOINTS
struct linux_binprm;

/* What the rest of the runtime does with handlers, sites and tasks is no part of the test. */
#define djs_sites test_process_runs
#define djs_site_failed test_process_failed
#define djs_enter test_process_enter
#define djs_leave test_process_leave
#define djs_run_handler test_process_run
#define djs_works_open test_process_works_open
#define djs_works_add test_process_works_add
#define djs_works_close test_process_works_close
#define djs_works_free test_process_works_free
#define djs_task_events_start test_process_events_start
#define djs_task_events_stop test_process_events_stop
struct djs_ctx* test_process_enter(const struct djs_handler* handler, const struct djs_site* site);
void test_process_leave(struct djs_ctx* ctx);

#include "process/process.c"

#include "process/lives.c"

#include "process/syscalls.c"

enum { MOST_SITES = 8, MOST_EVENTS = 8, MOST_DUE = 64 };
static struct djs_site_run runs[MOST_SITES];
struct djs_site_run* test_process_runs = runs;
void (*test_process_ran)(u32 handler, s32 thread);
bool test_is_compat, test_process_has_context = true;
int test_events_error, test_works_error;
u32 test_tasks_exist, test_process_works_freed;
bool test_process_add_may_sleep, test_process_add_warns;
static struct signal_struct signals[TEST_TASKS];
static struct djs_task_event* told[MOST_EVENTS];
static u32 told_count;
static struct {
    struct djs_works* works;
    struct task_struct* task;
} due_works[MOST_DUE];
static u32 due_count;
static struct djs_ctx context;

/* ---- the rest of the runtime ---- */

static void ran(const struct djs_handler* handler) {
    if (!test_preempt_depth) /* whoever disarms waits only for those who cannot be preempted */
        abort();
    test_process_ran(handler - djs_script.handlers, test_current->pid);
}

void test_process_run(const struct djs_handler* handler, const struct djs_site* site,
                      struct pt_regs* regs) {
    if (&djs_script.handlers[site->handler] != handler)
        abort();
    ran(handler);
}

struct djs_ctx* test_process_enter(const struct djs_handler* handler, const struct djs_site* site) {
    if (!test_process_has_context)
        return NULL;
    context.handler = handler;
    context.site = site;
    context.error = NULL;
    ran(handler);
    return &context;
}

void test_process_leave(struct djs_ctx* ctx) {
    if (ctx->regs || ctx->saved || ctx->returned || ctx->user_regs)
        abort();
}

void test_process_failed(struct djs_site_run* run, int error, const char* why) {
    if (!why)
        abort();
    run->error = error;
}

int test_process_works_open(struct djs_works* works) {
    test_may_sleep();
    works->open = !test_works_error;
    return test_works_error;
}

int test_process_works_add(struct djs_works* works, struct task_struct* task, gfp_t how) {
    test_process_add_may_sleep = gfpflags_allow_blocking(how);
    test_process_add_warns = !(how & __GFP_NOWARN);
    if (test_process_add_may_sleep)
        test_may_sleep();
    if (!works->open || task->flags & PF_EXITING)
        return -ESRCH;
    if (due_count == MOST_DUE)
        abort();
    due_works[due_count].works = works;
    due_works[due_count++].task = task;
    return 0;
}

void test_process_works_close(struct djs_works* works) {
    test_may_sleep();
    works->open = false;
    due_count = 0;
}

void test_process_works_free(struct djs_works* works) {
    test_may_sleep();
    test_process_works_freed++;
    test_process_works_close(works);
}

bool test_process_works_are_open(void) {
    return beginnings.open;
}

int test_process_events_start(struct djs_task_event* events, u32 count) {
    u32 i;

    test_may_sleep();
    if (test_events_error)
        return test_events_error;
    for (i = 0; i < count; i++)
        if (!events[i].registered) {
            told[told_count++] = &events[i];
            events[i].registered = true;
        }
    return 0;
}

void test_process_events_stop(struct djs_task_event* events, u32 count) {
    u32 i, j;

    test_may_sleep();
    for (i = 0; i < count; i++) {
        for (j = 0; j < told_count && told[j] != &events[i]; j++)
            ;
        if (j < told_count)
            told[j] = told[--told_count];
        events[i].registered = false;
    }
}

/* ---- the kernel ---- */

struct task_struct* test_next_task(struct task_struct* task) {
    const u32 next = task ? task - test_task(0) + 1 : 0;

    if (!test_rcu_depth) /* tasks leave the list meanwhile */
        abort();
    return next < test_tasks_exist ? test_task(next) : NULL;
}

static void* callback_of(const char* event) {
    u32 i;

    for (i = 0; i < told_count; i++)
        if (!strcmp(told[i]->name, event))
            return told[i]->callback;
    return NULL;
}

bool test_is_told(const char* event) {
    return callback_of(event);
}

static struct task_struct* running(u32 number) {
    test_be_task(number);
    test_current->signal = &signals[number];
    return test_current;
}

void test_threads_live(u32 task, int count) {
    atomic_set(&signals[task].live, count);
}

bool test_executes(u32 task, s32 old_number) {
    void (*callback)(void*, struct task_struct*, pid_t, struct linux_binprm*) =
        callback_of("sched_process_exec");

    test_atomic_depth++;
    if (callback)
        callback(NULL, running(task), old_number, NULL);
    test_atomic_depth--;
    return callback;
}

bool test_forks(u32 parent, u32 child) {
    void (*callback)(void*, struct task_struct*, struct task_struct*) =
        callback_of("sched_process_fork");

    test_atomic_depth++;
    if (callback)
        callback(NULL, running(parent), test_task(child));
    test_atomic_depth--;
    return callback;
}

bool test_exits(u32 task) {
    void (*callback)(void*, struct task_struct*) = callback_of("sched_process_exit");

    test_atomic_depth++;
    if (callback)
        callback(NULL, running(task));
    test_atomic_depth--;
    return callback;
}

bool test_calls(u32 task, long number) {
    void (*callback)(void*, struct pt_regs*, long) = callback_of("sys_enter");
    struct pt_regs regs = {0x1000, 0, number};

    running(task);
    test_atomic_depth++;
    if (callback)
        callback(NULL, &regs, number);
    test_atomic_depth--;
    return callback;
}

long test_call_returns(u32 task, long number, long result) {
    void (*callback)(void*, struct pt_regs*, long) = callback_of("sys_exit");
    struct pt_regs regs = {0x1000, result, number};

    running(task);
    test_atomic_depth++;
    if (callback)
        callback(NULL, &regs, result);
    test_atomic_depth--;
    return regs.ax;
}

u32 test_to_user_mode(u32 task) {
    u32 i, count = 0;

    running(task);
    for (i = 0; i < due_count;)
        if (due_works[i].task == test_current) {
            struct djs_works* works = due_works[i].works;

            due_works[i] = due_works[--due_count];
            works->function();
            count++;
        } else {
            i++;
        }
    return count;
}

u32 test_task_references(void) {
    u32 i, references = 0;

    for (i = 0; i < TEST_TASKS; i++)
        references += test_task(i)->references;
    return references;
}

/* ---- for the test ---- */

void test_process_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++)
        runs[i] = (struct djs_site_run){
            .site = &djs_script.sites[i],
            .mechanism = djs_script.sites[i].mechanism,
            .wanted = 1,
        };
}

void test_process_want(u32 site, bool wanted) {
    runs[site].wanted = wanted;
}

bool test_process_armed(u32 site) {
    return runs[site].armed;
}

int test_process_error(u32 site) {
    return runs[site].error;
}

int test_process_attach(void) {
    return djs_ops_process.attach();
}

void test_process_begin(void) {
    djs_ops_process.begin();
}

void test_process_disarm(void) {
    djs_ops_process.disarm();
}

void test_process_detach(void) {
    djs_ops_process.detach();
}

void test_process_free(void) {
    djs_ops_process.free();
}
