/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_TASK_WORK_H
#define DJSTAP_TEST_TASK_WORK_H
struct callback_head {
    struct callback_head* next;
    void (*func)(struct callback_head*);
};
typedef void (*task_work_func_t)(struct callback_head*);
enum task_work_notify_mode { TWA_NONE, TWA_RESUME };
#define init_task_work(work, function) ((void)((work)->func = (function)))
#endif
