/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_KPROBES_H
#define DJSTAP_TEST_KPROBES_H
struct pt_regs;
struct kprobe {
    int (*pre_handler)(struct kprobe* kprobe, struct pt_regs* regs);
    const char* symbol_name;
    unsigned flags;
    void* addr;
};
#define KPROBE_FLAG_DISABLED 2
int register_kprobe(struct kprobe* kprobe);
void unregister_kprobe(struct kprobe* kprobe);
#endif
