// SPDX-License-Identifier: GPL-2.0-or-later
// A djprobe without a script: counts calls of two system calls and remembers the last arguments.
#include <linux/module.h>

#include "include/djprobe.h"

static atomic_long_t calls = ATOMIC_LONG_INIT(0);
static unsigned long last_argument;

static void hit(struct djprobe* probe, struct pt_regs* regs) {
    const struct pt_regs* user = (const struct pt_regs*)regs->di; /* a system call's argument */

    atomic_long_inc(&calls);
    if (probe->data)
        WRITE_ONCE(*(unsigned long*)probe->data, user->di);
}

static struct djprobe probes[] = {
    {.symbol = "__x64_sys_gettimeofday", .handler = hit},
    {.symbol = "__x64_sys_getpriority", .handler = hit, .data = &last_argument},
};

static int __init times_init(void) {
    struct djprobe* all[] = {&probes[0], &probes[1]};

    return register_djprobes(all, ARRAY_SIZE(all));
}

static void __exit times_exit(void) {
    unsigned long missed = djprobe_missed(&probes[0]) + djprobe_missed(&probes[1]);

    unregister_djprobes(&probes[0]);
    pr_info("times: %ld calls, %lu missed, last argument %lu\n", atomic_long_read(&calls), missed,
            last_argument);
}

module_init(times_init);
module_exit(times_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("djprobes with handlers in C");
