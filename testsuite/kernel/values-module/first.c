// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe whose variables are hard to find: structures in registers, parts of
// structures, bit-fields, static variables of the same name in two files.
#include "values.h"
#include <linux/module.h>

static int state = 11;
int table[4] = {10, 20, 30, 40};

noinline struct values_pair values_make(struct values_pair pair, int step) {
    pair.first += step;
    pair.third -= step;
    state += step;
    return pair;
}

noinline int values_sum(struct values_wide wide, int step) {
    wide.first += step;
    return wide.first + wide.second * 10 + wide.third * 100;
}

noinline struct values_list values_list(int step) {
    struct values_list list = {.first = step, .second = step * 2, .third = step * -3};

    return list;
}

static int __init values_init(void) {
    struct values_pair pair = {.first = 7, .second = -2, .third = 300};
    struct values_wide wide = {.first = 5, .second = -6, .third = 200};
    struct values_bits bits = {.negative = -3, .low = 99, .wide = 0xabcdef0123, .sign = -1};

    pair = values_make(pair, 1);
    pr_info("values: pair %d %d %d\n", pair.first, pair.second, pair.third);
    pr_info("values: sum %d\n", values_sum(wide, 1));
    pr_info("values: list %d\n", values_list(100).third);
    pr_info("values: second %d, state %d\n", values_second(&bits, 3), state);
    return 0;
}

static void __exit values_exit(void) {}

module_init(values_init);
module_exit(values_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("variables in registers and parts, for djstap's tests");
