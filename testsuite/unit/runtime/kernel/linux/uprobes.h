/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_UPROBES_H
#define DJSTAP_TEST_UPROBES_H
#include <sys/types.h>
struct inode;
struct pt_regs;
struct uprobe;
struct uprobe_consumer {
    int (*handler)(struct uprobe_consumer* consumer, struct pt_regs* regs);
    int (*ret_handler)(struct uprobe_consumer* consumer, unsigned long function,
                       struct pt_regs* regs);
};
struct uprobe* uprobe_register(struct inode* inode, loff_t offset, loff_t semaphore,
                               struct uprobe_consumer* consumer);
void uprobe_unregister_nosync(struct uprobe* uprobe, struct uprobe_consumer* consumer);
void uprobe_unregister_sync(void);
#endif
