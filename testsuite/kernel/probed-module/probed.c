// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe: its functions are called when it is loaded, and by two threads as
// long as it stays loaded.
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

struct probed_item {
    const char* name;
    int number;
};

static struct task_struct* threads[2];
static bool busy;
module_param(busy, bool, 0444);

noinline int probed_take(struct probed_item* item, int more);
noinline int probed_take(struct probed_item* item, int more) {
    int sum = item->number + more;

    item->number = sum;
    barrier();
    return sum * 2;
}

static int run(void* unused) {
    struct probed_item item = {.name = "thread", .number = 0};
    unsigned int i;

    for (i = 0; !kthread_should_stop(); i++) {
        probed_take(&item, 1);
        if (!(i & 0xfff))
            usleep_range(50, 100);
    }
    return 0;
}

static int __init probed_init(void) {
    struct probed_item item = {.name = "init", .number = 40};
    int i;

    probed_take(&item, 2);
    for (i = 0; busy && i < ARRAY_SIZE(threads); i++)
        threads[i] = kthread_run(run, NULL, "probed/%d", i);
    return 0;
}

static void __exit probed_exit(void) {
    int i;

    for (i = 0; busy && i < ARRAY_SIZE(threads); i++)
        if (!IS_ERR(threads[i]))
            kthread_stop(threads[i]);
}

module_init(probed_init);
module_exit(probed_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("probed by djstap's tests");
