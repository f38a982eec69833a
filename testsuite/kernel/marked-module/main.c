// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe, whose markers have all kinds of arguments.
#include <linux/module.h>

#include "marked.h"

static int evaluated;

static int evaluate(int value) {
    evaluated++;
    return value;
}

static noinline void all_types(void) {
    signed char c = -1;
    short h = -2;

    DJSTAP_MARK(signs, "%hhd %hd %d %ld %lld", c, h, -3, -4L, -5LL);
    DJSTAP_MARK(unsigned_ones, "%hhu %hu %u %lu %llx", (unsigned char)200, (unsigned short)60000,
                4000000000u, 1UL << 63, ~0ULL);
    DJSTAP_MARK(ten, "%d %d %d %d %d %d %d %d %s %p", 1, 2, 3, 4, 5, 6, -7, 8, "nine",
                (void*)0x1234);
    DJSTAP_MARK(texts, "a %c, %s, %s of %d%%", 'c', "text", (const char*)NULL, 100);
    DJSTAP_MARK(nothing, "");
}

static int run(const char* text, const struct kernel_param* parameter) {
    unsigned int i, count;
    int error = kstrtouint(text, 0, &count);

    for (i = 0; !error && i < count; i++) {
        all_types();
        shared(1);
        shared(20);
        call_from_other();
        DJSTAP_MARK(place, "%d", 1);
        DJSTAP_MARK_GENERIC(generic, "%d", evaluate(7));
        preempt_disable();
        DJSTAP_MARK_NOPREEMPT(atomic, "%d", evaluate(9));
        DJSTAP_MARK_GENERIC_NOPREEMPT(generic_atomic, "%d", evaluate(5));
        preempt_enable();
    }
    return error;
}

static const struct kernel_param_ops ops = {.set = run};
module_param_cb(run, &ops, NULL, 0200);
module_param(evaluated, int, 0400);

static int __init marked_init(void) {
    DJSTAP_MARK(starts, "%s", THIS_MODULE->name);
    return 0;
}

static void __exit marked_exit(void) {
    DJSTAP_MARK(ends, "%d", evaluated);
}

module_init(marked_init);
module_exit(marked_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("probed by djstap's tests");
