/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for groups_for_test.c and direct_for_test.c, which define these functions.
 */
#ifndef DJSTAP_TEST_FTRACE_H
#define DJSTAP_TEST_FTRACE_H
struct ftrace_ops;
struct ftrace_regs;
enum ftrace_ops_cmd {
    FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_SELF,
    FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER,
    FTRACE_OPS_CMD_DISABLE_SHARE_IPMODIFY_PEER,
};
typedef void (*ftrace_func_t)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                              struct ftrace_regs* regs);
struct ftrace_ops {
    unsigned long flags;
    ftrace_func_t func;
    int (*ops_func)(struct ftrace_ops* ops, enum ftrace_ops_cmd command);
};
#define FTRACE_OPS_FL_ENABLED 1
#define FTRACE_OPS_FL_DYNAMIC 2
#define FTRACE_OPS_FL_SAVE_REGS 4
#define FTRACE_OPS_FL_PERMANENT 4096

int ftrace_set_filter_ips(struct ftrace_ops* ops, unsigned long* addresses, unsigned int count,
                          int remove, int reset);
void ftrace_free_filter(struct ftrace_ops* ops);
#endif
