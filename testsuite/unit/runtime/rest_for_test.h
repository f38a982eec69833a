/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a handler that runs in a task takes its locks, and rests (runtime/globals/rest.c). */
#ifndef DJSTAP_REST_FOR_TEST_H
#define DJSTAP_REST_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* What raw_local_irq_save finds and restores. */
enum { TEST_REST_IRQS_ON = 0x246, TEST_REST_IRQS_OFF = 0x46 };

/* A word for each call. "barrier" and what tries or releases locks are followed by `busy` of this
 * CPU's context for tasks. */
extern char test_rest_log[1024];
extern struct djs_ctx test_rest_context; /* of this CPU, for tasks */
extern unsigned long test_rest_irqs;
extern u32 test_rest_refused;    /* how often the locks are not free */
extern bool test_rest_is_killed; /* the process */

void test_rest_begin(void);
void test_rest_lock(struct djs_ctx* ctx);
void test_rest_unlock(struct djs_ctx* ctx);
void test_rest(struct djs_ctx* ctx);
#ifdef __cplusplus
}
#endif
#endif
