// SPDX-License-Identifier: GPL-2.0-or-later
// A module with static markers. Writing a number to its parameter passes so many items through a
// queue:
//
//   insmod queue.ko && echo 1000 > /sys/module/queue/parameters/pass
//   djstap -e 'probe module("./queue.ko").mark("item_*") { println($name, " ", $$parms) }'
#include <linux/kfifo.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include <djstap/marker.h>

struct item {
    unsigned int number;
    const char* kind;
};
static DEFINE_KFIFO(queue, struct item, 16);
static DEFINE_MUTEX(lock);
static unsigned long passed;

static void put(const struct item* item) {
    if (kfifo_put(&queue, *item))
        DJSTAP_MARK(item_queued, "%u %s", item->number, item->kind);
    else
        DJSTAP_MARK(queue_full, "%u", kfifo_len(&queue));
}

static void take(void) {
    struct item item;

    if (!kfifo_get(&queue, &item))
        return;
    passed++;
    DJSTAP_MARK(item_passed, "number %u, queue %p, %lu in all", item.number, &queue, passed);
}

static int pass(const char* text, const struct kernel_param* parameter) {
    unsigned int i, count;
    int error = kstrtouint(text, 0, &count);

    for (i = 0; !error && i < count; i++) {
        const struct item item = {.number = i, .kind = i % 2 ? "odd" : "even"};

        mutex_lock(&lock);
        put(&item);
        take();
        mutex_unlock(&lock);
        cond_resched();
    }
    return error;
}

static const struct kernel_param_ops ops = {.set = pass};
module_param_cb(pass, &ops, NULL, 0200);
module_param(passed, ulong, 0400);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a queue with static markers");
