/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_SIGNAL_H
#define DJSTAP_TEST_SIGNAL_H
#include "linux/sched.h"
struct signal_struct {
    atomic_t live;
};
/* NULL: the first one; returns NULL behind the last. */
struct task_struct* test_next_task(struct task_struct* task);
#define for_each_process_thread(process, thread)                                                   \
    for ((thread) = test_next_task(NULL);                                                          \
         (thread) && ((process) = (thread)->group_leader, (void)(process), true);                  \
         (thread) = test_next_task(thread))
static inline struct task_struct* get_task_struct(struct task_struct* task) {
    task->references++;
    return task;
}
static inline void put_task_struct(struct task_struct* task) {
    test_put(&task->references);
}
#endif
