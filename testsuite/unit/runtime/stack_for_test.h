/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over stacks (runtime/context/stack.c) that a test makes up. */
#ifndef DJSTAP_STACK_FOR_TEST_H
#define DJSTAP_STACK_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Where this module is. */
#define TEST_OWN 0xffffffffc0000000ul
#define TEST_OWN_BYTES 0x1000ul
#define TEST_FRAMES 200

/* The return addresses, the innermost first, up to 0. */
extern unsigned long test_frames[TEST_FRAMES];
extern u32 test_frames_seen;               /* how many of them were asked for */
extern unsigned long test_probed_function; /* addr() */
extern unsigned long test_task_stack;      /* where the task's stack begins */

/* With registers at the address, those of a program if `user`; 0: without. Returns the number of
 * addresses. */
u32 test_take_stack(struct djs_ctx* ctx, unsigned long address, bool user, u64* stack);
void test_backtrace(struct djs_ctx* ctx, char* out);
s64 test_stack_at(struct djs_ctx* ctx, s64 depth);
void test_take_stack_at_entry(struct djs_ctx* ctx, u64* stack, u64 pointer);
void test_copy_stack(u64* to, const u64* from);
void test_text_of_stack(char* out, const u64* stack);
s64 test_stack_size(void);
s64 test_stack_used(void);
#ifdef __cplusplus
}
#endif
#endif
