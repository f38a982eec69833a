// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe: functions that call each other, each in another way.
#include <linux/module.h>

#define OWN_CODE noinline __attribute__((noclone))

OWN_CODE int calling_leaf(int value);
OWN_CODE int calling_middle(int value);
OWN_CODE int calling_top(int value);
OWN_CODE int calling_jump(int value);
OWN_CODE int calling_around(int value);

OWN_CODE int calling_leaf(int value) {
    barrier();
    return value + 1;
}

static OWN_CODE int calling_local(int value) {
    barrier();
    return value * 3;
}

OWN_CODE int calling_middle(int value) {
    return calling_leaf(value) * 2;
}

OWN_CODE int calling_top(int value) {
    return calling_middle(value) + calling_leaf(value + 10) + calling_local(value);
}

// The call is the last thing that it does: the compiler makes it a jump.
OWN_CODE int calling_jump(int value) {
    return calling_leaf(value + 100);
}

static __always_inline int calling_inlined(int value) {
    barrier();
    return calling_leaf(value + 200) * 5;
}

OWN_CODE int calling_around(int value) {
    return calling_inlined(value) + calling_local(value) + 3;
}

static int __init calling_init(void) {
    int i, sum = 0;

    for (i = 0; i < 3; i++)
        sum += calling_top(i) + calling_middle(i + 1000) + calling_jump(i) + calling_around(i) +
               calling_leaf(5000);
    pr_info("calling: %d\n", sum);
    return 0;
}

static void __exit calling_exit(void) {}

module_init(calling_init);
module_exit(calling_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("probed by djstap's tests");
