// SPDX-License-Identifier: GPL-2.0-or-later
// Arms a kprobe at each of the places in places.h, and leaves it to the kernel which of them become
// jumps.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "places.h" // JUDGE_PRINTK, the link-time address of _printk; JUDGE_PLACES, addresses

// How far a module's code is from where the addresses say; 0: they are the kernel's.
static unsigned long moved;
module_param(moved, ulong, 0);

static const unsigned long places[] = {JUDGE_PLACES};
static struct kprobe probes[ARRAY_SIZE(places)];

static int nothing(struct kprobe* probe, struct pt_regs* regs) {
    return 0;
}

static void disarm(void) {
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (probes[i].addr)
            unregister_kprobe(&probes[i]);
}

static int __init start(void) {
    const unsigned long bias = moved ? moved : (unsigned long)_printk - JUDGE_PRINTK;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        probes[i].addr = (kprobe_opcode_t*)(places[i] + bias);
        probes[i].pre_handler = nothing;
        if (register_kprobe(&probes[i]))
            probes[i].addr = NULL; // the kernel allows none there
    }
    return 0;
}

module_init(start);
module_exit(disarm);
MODULE_DESCRIPTION("kprobes at places that a file names");
MODULE_LICENSE("GPL");
