/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of handlers that have no context (runtime/access/alone.c), on a processor and of memory
 * that a test makes up. */
#ifndef DJSTAP_ALONE_FOR_TEST_H
#define DJSTAP_ALONE_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The level of interruption, and whether the stack is too short. */
extern u32 test_alone_level;
extern bool test_alone_lacks;
extern u32 test_alone_gate;
/* What is read; without a text, nothing can be. */
extern u64 test_alone_number;
extern const char* test_alone_text;
/* A line for each error, each read, and each question about the stack. */
extern char test_alone_log[1024];

void test_alone_begin(void);
struct djs_ctx* test_alone_context(u32 level);
u64 test_alone_skipped(void);
#ifdef __cplusplus
}
#endif
#endif
