/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_NOTIFIER_H
#define DJSTAP_TEST_NOTIFIER_H
struct notifier_block {
    int (*notifier_call)(struct notifier_block* block, unsigned long state, void* data);
    int priority; /* the largest one is called first */
};
#define NOTIFY_DONE 0
int register_module_notifier(struct notifier_block* block);
int unregister_module_notifier(struct notifier_block* block);
#endif
