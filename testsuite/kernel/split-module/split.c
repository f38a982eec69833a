// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe whose debug information is in another file: it has locals, inline
// instances, a label and types that only its own DWARF describes.
#include <linux/module.h>

struct split_step {
    int number;
    unsigned low : 3, high : 5;
    const char* name;
};

static int total;

static __always_inline int split_double(int value) {
    int twice = value * 2;

    total += twice;
    return twice;
}

noinline int split_walk(struct split_step* step, int count);
noinline int split_walk(struct split_step* step, int count) {
    int sum = 0;
    int index;

    for (index = 0; index < count; index++) {
        sum += split_double(step->number + index);
        barrier();
        total += sum;
    }
    if (sum > 100)
        goto large;
    return sum;
large:
    pr_info("split: large\n");
    return -sum;
}

static int __init split_init(void) {
    struct split_step step = {.number = 3, .low = 5, .high = 17, .name = "three"};

    pr_info("split: %d\n", split_walk(&step, 3));
    step.number = 50;
    pr_info("split: %d\n", split_walk(&step, 2));
    return 0;
}

static void __exit split_exit(void) {}

module_init(split_init);
module_exit(split_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("debug information in another file, for djstap's tests");
