// SPDX-License-Identifier: GPL-2.0-or-later
// What tasks are made to do (runtime/tasks/), for one task that a test has do it.
#include "kernel_for_test.h"

#include "linux/gfp.h"
#include "linux/list.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"
#include "linux/tracepoint.h"
#include "linux/wait.h"

#include "tasks_for_test.h"

#define DJS_HAVE_TRACEPOINTS
#define DJS_HAVE_RCU_TASKS
#define synchronize_rcu_tasks() (test_wait_for_others(), (void)test_task_rcu_waits++)
#define IS_ENABLED(option) test_is_rt
#define schedule_timeout_uninterruptible(ticks) test_wait()
static void test_wait(void);
#undef wait_event
#define wait_event(queue, condition)                                                               \
    (test_may_sleep(), (condition) ? (void)0 : others_end(), (condition) ? (void)0 : abort())
static void others_end(void);
static void(kfree)(const void* memory) { /* the kernel is given its address */
    guarded_free(memory);
}

static inline void atomic_inc(atomic_t* a) {
    atomic_inc_return(a);
}
static inline void atomic_dec(atomic_t* a) {
    atomic_dec_return_release(a);
}

#include "tasks/tasks.c"

static void run(void) {
    if (test_work_runs)
        test_work_runs();
}

static DJS_WORKS(run, works);
void (*test_work_runs)(void);
bool test_task_exits, test_is_rt, test_has_task_work = true, test_kprobe_is_refused;
u32 test_kprobes, test_waits, test_event_waits, test_event_that_fails = 3, test_task_rcu_waits;
static struct task_struct task;
enum { MOST_WORKS = 512 };
static struct {
    struct callback_head* head;
    task_work_func_t function;
} task_works[MOST_WORKS];
static u32 task_work_count, adding_waits, running_elsewhere;

static int test_task_work_add(struct task_struct* to, struct callback_head* work,
                              enum task_work_notify_mode mode) {
    if (to != &task || mode != TWA_RESUME || task_work_count == MOST_WORKS)
        abort();
    if (test_task_exits)
        return -ESRCH;
    task_works[task_work_count].head = work;
    task_works[task_work_count++].function = work->func;
    return 0;
}

int register_kprobe(struct kprobe* kprobe) {
    test_may_sleep();
    if (strcmp(kprobe->symbol_name, "task_work_add") || kprobe->flags != KPROBE_FLAG_DISABLED)
        abort();
    if (kprobe->addr) /* the kernel refuses a symbol and an address */
        abort();
    if (!test_has_task_work)
        return -ENOENT;
    kprobe->addr = (void*)test_task_work_add;
    if (test_kprobe_is_refused)
        return -EINVAL;
    test_kprobes++;
    return 0;
}

void unregister_kprobe(struct kprobe* kprobe) {
    test_may_sleep();
    if (!kprobe->addr || !test_kprobes)
        abort();
    test_kprobes--;
}

void test_forget_task_work(void) {
    add_task_work = NULL;
}

int test_works_open(void) {
    return djs_works_open(&works);
}

int test_works_add(bool may_sleep) {
    return djs_works_add(&works, &task, may_sleep ? GFP_KERNEL : GFP_NOWAIT);
}

int test_works_try(void) {
    test_current = &task;
    return djs_works_try(&works);
}

void test_works_close(void) {
    djs_works_close(&works);
}

void test_works_free(void) {
    djs_works_free(&works);
}

struct test_works_state test_works_state(void) {
    return (struct test_works_state){works.free_count, works.running, works.queue.wakes,
                                     works.open};
}

void test_works_shut(void) {
    works.open = false;
}

void test_works_are_added(u32 waits) {
    adding_waits = waits;
    atomic_inc(&works.adding);
}

static void test_wait(void) {
    test_may_sleep();
    test_waits++;
    if (!adding_waits)
        abort();
    if (!--adding_waits)
        atomic_dec(&works.adding);
}

void test_works_run_elsewhere(u32 count) {
    running_elsewhere = count;
    works.running += count;
}

static void others_end(void) {
    test_waits++;
    works.running -= running_elsewhere;
    running_elsewhere = 0;
}

void test_works_lock(bool held) {
    works_lock.is_held = held;
}

u32 test_task_works(void) {
    return task_work_count;
}

static struct callback_head* take_work(u32 number, task_work_func_t* function) {
    struct callback_head* head = task_works[number].head;

    *function = task_works[number].function;
    task_work_count--;
    memmove(&task_works[number], &task_works[number + 1],
            (task_work_count - number) * sizeof(task_works[0]));
    return head;
}

void test_task_runs(u32 number) {
    task_work_func_t function;
    struct callback_head* head = take_work(number, &function);

    if (head->func == (task_work_func_t)(void*)kfree)
        guarded_free(head); /* a function of another type */
    else
        head->func(head);
}

void test_task_runs_late(u32 number) {
    task_work_func_t function;
    struct callback_head* head = take_work(number, &function);

    function(head);
}

/* ---- tracepoints ---- */

static void on_event(void) {}

static struct tracepoint tracepoints[] = {
    {"sched_switch", NULL}, {"sched_process_fork", NULL}, {"sched_process_exec", NULL}};
static struct djs_task_event events[] = {
    {.name = "sched_process_exec", .callback = (void*)on_event},
    {.name = "sched_process_fork", .callback = (void*)on_event},
    {.name = "sched_process_none", .callback = (void*)on_event},
};

void for_each_kernel_tracepoint(void (*function)(struct tracepoint*, void*), void* data) {
    u32 i;

    test_may_sleep();
    for (i = 0; i < ARRAY_SIZE(tracepoints); i++)
        function(&tracepoints[i], data);
}

int tracepoint_probe_register(struct tracepoint* tracepoint, void* probe, void* data) {
    test_may_sleep();
    if (tracepoint->probe || data)
        abort();
    if (test_event_that_fails < 3 && !strcmp(tracepoint->name, events[test_event_that_fails].name))
        return -ENOMEM;
    tracepoint->probe = probe;
    return 0;
}

void tracepoint_probe_unregister(struct tracepoint* tracepoint, void* probe, void* data) {
    test_may_sleep();
    if (tracepoint->probe != probe || data)
        abort();
    tracepoint->probe = NULL;
}

void tracepoint_synchronize_unregister(void) {
    test_wait_for_others();
    test_event_waits++;
}

int test_events_start(u32 count) {
    return djs_task_events_start(events, count);
}

void test_events_stop(u32 count) {
    djs_task_events_stop(events, count);
}

u32 test_events_registered(void) {
    u32 i, bits = 0;

    for (i = 0; i < ARRAY_SIZE(tracepoints); i++)
        if (tracepoints[i].probe)
            bits |= 1u << i;
    return bits;
}
