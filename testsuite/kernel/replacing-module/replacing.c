// SPDX-License-Identifier: GPL-2.0-or-later
// A kprobe that makes a function return immediately, with a value of its own, to one program:
// "Changing Execution Path" in Documentation/trace/kprobes.rst.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

static char* function;
module_param(function, charp, 0444);
static long value;
module_param(value, long, 0444);
static unsigned long hits;
module_param(hits, ulong, 0444);

asm(".pushsection .text\n.type replacing_return,@function\nreplacing_return:\nret\nint3\n"
    ".size replacing_return,.-replacing_return\n.popsection");
void replacing_return(void);

static int replace(struct kprobe* probe, struct pt_regs* regs) {
    if (strcmp(current->comm, "victim"))
        return 0;
    hits++;
    regs->ax = value;
    regs->ip = (unsigned long)replacing_return;
    return 1;
}

static struct kprobe probe = {.pre_handler = replace};

static int __init replacing_init(void) {
    probe.symbol_name = function;
    return register_kprobe(&probe);
}

static void __exit replacing_exit(void) {
    unregister_kprobe(&probe);
}

module_init(replacing_init);
module_exit(replacing_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("replaces a function, for a test");
