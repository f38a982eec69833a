/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what they read of tasks. */
#ifndef DJSTAP_TEST_SCHED_H
#define DJSTAP_TEST_SCHED_H
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

#include "include/platform.h"

#include "linux/spinlock.h"

struct fs_struct;
struct mm_struct;
struct perf_event_context;
struct signal_struct;

#define TASK_COMM_LEN 16
struct task_struct {
    pid_t pid, tgid;
    unsigned flags;
    u64 start_boottime, self_exec_id;
    struct mm_struct* mm;
    struct fs_struct* fs;
    struct task_struct *real_parent, *group_leader;
    struct signal_struct* signal;
    int references;
    bool is_locked;
    char comm[TASK_COMM_LEN];
    unsigned __state;
    int on_cpu, on_rq;
    raw_spinlock_t pi_lock;
    struct perf_event_context* perf_event_ctxp[2]; /* of the processor's, and of the kernel's */
};

#define TASK_RUNNING 0
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_NEW 0x800

#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_FORKNOEXEC 0x40
#define PF_USER_WORKER 0x4000
#define PF_KTHREAD 0x200000

#define task_pid_nr(task) ((task)->pid)

#undef current
#define current test_current
extern struct task_struct* test_current;

extern bool test_is_killed;
#define fatal_signal_pending(task) ((void)(task), test_is_killed)
void test_may_sleep(void);
#define cond_resched() test_may_sleep()
extern int test_atomic_depth;

static inline void task_lock(struct task_struct* task) {
    if (task->is_locked)
        abort();
    task->is_locked = true;
    test_atomic_depth++;
}

static inline void task_unlock(struct task_struct* task) {
    if (!task->is_locked)
        abort();
    task->is_locked = false;
    test_atomic_depth--;
}
#endif
