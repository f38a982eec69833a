/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: a test runs what is queued. */
#ifndef DJSTAP_TEST_WORKQUEUE_H
#define DJSTAP_TEST_WORKQUEUE_H
#include "linux/slab.h"

struct delayed_work {
    struct work_struct work;
};
#define DECLARE_DELAYED_WORK(name, function) struct delayed_work name = {{function}}
#define HZ 250
#define queue_delayed_work(queue, what, after) ((void)(test_queued = &(what)->work))
void test_may_sleep(void);
#define cancel_delayed_work_sync(what)                                                             \
    (test_may_sleep(), (void)(test_queued = test_queued == &(what)->work ? NULL : test_queued))
extern struct work_struct* test_queued;
#endif
