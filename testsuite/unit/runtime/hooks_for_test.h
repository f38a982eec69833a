/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks of the packet filter (runtime/netfilter/) and breakpoints on data (runtime/breakpoint/), in
 * a kernel with the packet filter's family ARP, but not BRIDGE. */
#ifndef DJSTAP_HOOKS_FOR_TEST_H
#define DJSTAP_HOOKS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_HOOKS = 3 };

struct test_hook {
    bool wanted;
    /* What has become of it. */
    bool armed, has_data;
    int error;
};
extern struct test_hook test_hooks[TEST_HOOKS];
extern int test_hook_error; /* of the kernel's functions; 0: none */
extern bool test_breakpoint_hits_at_once;
/* A line for each call of the kernel's functions, each handler, and each message. */
extern char test_hooks_log[2048];
/* What djs_run_handler does with the registers. */
extern void (*test_hook_handler)(struct pt_regs* regs);
u64 test_hook_argument(const struct pt_regs* regs, u32 number);
void test_hook_set_argument(struct pt_regs* regs, u32 number, u64 value);

void test_hooks_begin(void);
int test_netfilter_attach(void);
void test_netfilter_disarm(void);
int test_breakpoints_attach(void);
void test_breakpoints_disarm(void);
/* Returns the verdict of the hook that was registered last about a packet (1), which is on its way
 * from 2 to 3 at hook 4 of family 5. */
u32 test_packet(void);
void test_breakpoint_hit(u32 number, struct pt_regs* regs);
#ifdef __cplusplus
}
#endif
#endif
