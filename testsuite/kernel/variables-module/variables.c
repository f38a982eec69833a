// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe that has variables in sections of each kind.
#include <linux/module.h>
#include <linux/percpu.h>

struct variables_list {
    const char* name;
    struct variables_list* next;
};
extern const int in_rodata[3];
extern struct variables_list first, second; // other files might change them

static int in_data = 41;
static int in_bss;
static DEFINE_PER_CPU(int, in_percpu);
const int in_rodata[] = {7, 8, 9};
struct variables_list second = {.name = "second"};
struct variables_list first = {.name = "first", .next = &second};

noinline int variables_take(int step);
noinline int variables_take(int step) {
    in_data += step;
    in_bss += 2 * step;
    this_cpu_inc(in_percpu);
    return in_rodata[step % 3] + (first.next ? 100 : 0);
}

static int __init variables_init(void) {
    pr_info("variables: %d\n", variables_take(1));
    pr_info("variables: %d, in_bss is %d\n", variables_take(1), in_bss);
    return 0;
}

static void __exit variables_exit(void) {}

module_init(variables_init);
module_exit(variables_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("variables for djstap's tests");
