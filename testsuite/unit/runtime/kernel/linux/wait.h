/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_WAIT_H
#define DJSTAP_TEST_WAIT_H
#include <stdlib.h>
typedef struct wait_queue_head {
    unsigned wakes;
} wait_queue_head_t;
#define __WAIT_QUEUE_HEAD_INITIALIZER(name) {0}
#define DECLARE_WAIT_QUEUE_HEAD(name) wait_queue_head_t name = __WAIT_QUEUE_HEAD_INITIALIZER(name)
#define wake_up_all(queue) ((void)(queue)->wakes++)
#define wake_up(queue) ((void)(queue)->wakes++)
void test_may_sleep(void);
#define wait_event(queue, condition) (test_may_sleep(), (condition) ? (void)0 : abort())
#endif
