/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_FTRACE_H
#define DJSTAP_TEST_FTRACE_H
struct ftrace_regs;
struct ftrace_ops {
    void (*func)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                 struct ftrace_regs* regs);
    unsigned long flags;
};
#define FTRACE_OPS_FL_PERMANENT 4096
int ftrace_set_filter_ip(struct ftrace_ops* ops, unsigned long address, int remove, int reset);
void ftrace_free_filter(struct ftrace_ops* ops);
int register_ftrace_function(struct ftrace_ops* ops);
int unregister_ftrace_function(struct ftrace_ops* ops);
#endif
