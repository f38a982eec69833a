/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for groups_for_test.c, which defines these functions. */
#ifndef DJSTAP_TEST_FTRACE_H
#define DJSTAP_TEST_FTRACE_H
struct ftrace_ops {
    unsigned long flags;
};
#define FTRACE_OPS_FL_PERMANENT 4096

int ftrace_set_filter_ips(struct ftrace_ops* ops, unsigned long* addresses, unsigned int count,
                          int remove, int reset);
void ftrace_free_filter(struct ftrace_ops* ops);
#endif
