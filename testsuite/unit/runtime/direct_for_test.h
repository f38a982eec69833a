/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Direct calls and ftrace's own trampolines (runtime/djprobe/{direct,ftrace}.c), of groups that a
 * test makes. */
#ifndef DJSTAP_DIRECT_FOR_TEST_H
#define DJSTAP_DIRECT_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_DIRECT_SITES = 5, TEST_DIRECT_GROUPS = 2 };

struct test_direct_site {
    u8 mechanism;
    bool wanted, armed, disarmed;
    int group; /* it is attached by this one; -1: by none */
    int next;  /* the next site of its direct call; 0: none */
    int error;
    u8 fallback;
    char text[8]; /* c and a digit: it calls test_callees[digit] */
    u64 probe;
};
extern struct test_direct_site test_direct_sites[TEST_DIRECT_SITES];
struct test_callee {
    const char* symbol;
    bool is_own; /* in this module */
};
extern struct test_callee test_callees[3];
/* A line for each call of the kernel's functions, each handler, and each message. */
extern char test_direct_log[2048];
extern int test_direct_error, test_direct_groups_error;
extern u32 test_direct_table_room; /* what the kernel's table has */
extern bool test_direct_none_to_attach;
enum { TEST_TABLE_BIAS = 0x1000 };

void test_direct_begin(void);
/* Groups of the trampoline, or of the handler, with this number; `site`: the first one's. */
void test_direct_group(u32 group, u32 number, u32 count, u32 site);
void test_direct_prepare(bool by_ftrace, u32 group);
bool test_direct_has_returns(u32 group);
u64 test_direct_flags(u32 group);
void test_direct_set_flags(u32 group, u64 flags);
int test_direct_share(u32 group, u32 command);
int test_direct_attach(bool by_ftrace, u32 group);
int test_direct_disconnect(bool by_ftrace, u32 group);
void test_direct_release(bool by_ftrace, u32 group);
void test_direct_refused(bool by_ftrace, u32 site, int error);
bool test_direct_takes(bool by_ftrace, u32 site);
void test_ftrace_hit(u32 group, u64 ip, u64 regs);
bool test_ftrace_calls(u32 group, void (*function)(void));
/* Of struct djs_mechanism_ops. */
int test_directs_attach(bool by_ftrace);
void test_directs_disarm(bool by_ftrace);
void test_directs_disarm_sharing(void);
#ifdef __cplusplus
}
#endif
#endif
