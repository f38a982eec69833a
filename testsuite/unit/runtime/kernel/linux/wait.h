/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_WAIT_H
#define DJSTAP_TEST_WAIT_H
#include <stdlib.h>
typedef struct {
    unsigned wakes;
} wait_queue_head_t;
#define __WAIT_QUEUE_HEAD_INITIALIZER(name) {0}
#define wake_up(queue) ((void)(queue)->wakes++)
void test_may_sleep(void);
#define wait_event(queue, condition) (test_may_sleep(), (condition) ? (void)0 : abort())
#endif
