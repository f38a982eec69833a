/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of tasks that are made up, for the test of runtime/djprobe/stacks.c. */
#ifndef DJSTAP_STACKS_FOR_TEST_H
#define DJSTAP_STACKS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_STACKS = 140, TEST_WORDS_OF_STACK = 64, TEST_STACK_FRAMES = 4 };

struct test_stack_frame {
    u64 address;
    int regs; /* of an entry: 1: from the kernel, 2: from a program; 0: none */
};
struct test_stack {
    bool exists, has_no_stack, is_unreadable, is_exiting;
    unsigned state; /* 0: it runs */
    bool on_cpu, on_rq;
    const char* name;
    u64 words[TEST_WORDS_OF_STACK];
    struct test_stack_frame frames[TEST_STACK_FRAMES]; /* up to one without an address and regs */
    bool unwind_fails;                                 /* behind them */
};
extern struct test_stack test_stacks[TEST_STACKS];
extern u32 test_stack_rests; /* how often others could run */
extern u32 test_stack_exits; /* this one, when others run; 0: none */

void test_stacks_begin(void);
void test_stacks_be(u32 number);
/* Returns an address in this module, behind a call of: */
enum test_call {
    TEST_CALLS_DISPATCH,
    TEST_CALLS_SITE, /* of site 1 */
    TEST_CALLS_ELSEWHERE,
    TEST_CALLS_OTHER,
    TEST_CALLS_BEHIND, /* the first instruction of a site is not behind it */
    TEST_CALLS_NOTHING,
    TEST_CALLS_OF_OTHERS /* in another module */
};
u64 test_stack_return(enum test_call call);
u64 test_stack_other_callee(void); /* of TEST_CALLS_OTHER */
bool test_stacks_anybody_inside(void);
bool test_stacks_last_found_inside(void);
void test_stacks_forget_last_found(void);
s64 test_stacks_calls_of_current(void);
const char* test_name_inside(size_t size);
u32 test_stack_references(void);
#ifdef __cplusplus
}
#endif
#endif
