/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel keeps the return addresses that it has replaced, for kprobes_for_test.c. */
#ifndef DJSTAP_TEST_RETHOOK_H
#define DJSTAP_TEST_RETHOOK_H
struct llist_node {
    struct llist_node* next;
};
struct rethook_node {
    unsigned long frame, ret_addr;
    struct llist_node llist;
};
#endif
