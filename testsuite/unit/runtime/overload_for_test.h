/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for handlers that take too long (runtime/context/overload.c), on a clock and with
 * interrupts that a test makes up. */
#ifndef DJSTAP_OVERLOAD_FOR_TEST_H
#define DJSTAP_OVERLOAD_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The module's text. */
#define TEST_TEXT 0x100000ul
#define TEST_TEXT_BYTES 0x10000ul
#define TEST_STACK_WORDS 64

extern u64 test_overload_now; /* in cycles */
/* What a sample interrupts. */
extern bool test_has_registers, test_in_user_mode, test_in_softirq;
extern unsigned long test_interrupted, test_stack[TEST_STACK_WORDS];
extern struct djs_ctx test_contexts[4];
/* The errors of the kernel's functions. */
extern int test_hotplug_error;
/* A line for each call of the kernel's functions, and message. */
extern char test_overload_log[1024];

void test_overload_reset(void);
void test_overload_sample(u32 times);
/* Executes the work that was queued. */
void test_overload_work(void);

bool djs_overload_begin(void);
void djs_overload_end(const struct djs_handler* handler);
void djs_overload_start(void (*take_out)(u32 owner, u32 percent));
void djs_overload_stop(void);
#ifdef __cplusplus
}
#endif
#endif
