/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contexts of handlers (runtime/context/enter.c) on a processor that a test makes up. */
#ifndef DJSTAP_ENTER_FOR_TEST_H
#define DJSTAP_ENTER_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_IRQS_ON 0x200ul
#define TEST_IRQS_OFF 2ul
#define TEST_TIMED (1ull << 63)

/* The processor: the level of interruption, whether interrupts are disabled, how often preemption
 * is, and the stack. */
extern u32 test_level;
extern bool test_irqs_off, test_stack_is_ample;
extern int test_preemption_off;
extern unsigned long test_stack_left;
/* Whether locks are free, as seen at once or after some time, and whether a handler measures its
 * time. */
extern bool test_locks_free, test_locks_free_later, test_measures_time;
extern u32 test_enter_gate;
extern bool test_enter_memory;
/* A line for each thing that happens to locks, times, errors and the session. */
extern char test_enter_log[1024];

void test_processor_begin(void);
struct djs_ctx*
test_context(u32 level); /* of this processor; a number of levels: of the other one */
struct djs_ctx* test_context_of_session(void);
u64 test_skipped_busy(void);
u64 test_skipped_locked(void);
u64 test_skipped_stack(void);
/* A handler without a context holds locks. */
void test_lock_alone(bool held);
unsigned long test_variables(u32 cpu);

int test_contexts_init(void);
void test_contexts_exit(void);
struct djs_ctx* test_enter_context(const struct djs_handler* handler, const struct djs_site* site);
void test_leave_context(struct djs_ctx* ctx);
u64 test_lock_enter(const struct djs_handler* handler);
u64 test_lock_wait(const struct djs_handler* handler);
void test_lock_leave(const struct djs_handler* handler, u64 flags);
void test_fail(struct djs_ctx* ctx, const char* message, u32 place);
void test_fail_alone(const char* message, u32 place);
u32 test_lacks_stack(u32 bytes);
/* With registers, those of a program if `user`. */
void test_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                      bool has_registers, bool user);
#ifdef __cplusplus
}
#endif
#endif
