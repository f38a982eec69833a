/* SPDX-License-Identifier: GPL-2.0-or-later
 * The kernel's storage of globals and their locks (runtime/globals/), built so that a test says at
 * which level it runs, and how much memory there is.
 */
#ifndef DJSTAP_GLOBALS_FOR_TEST_H
#define DJSTAP_GLOBALS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
extern volatile int test_in_nmi; /* 1: what calls it is an NMI */

/* As a handler takes its locks and releases them: the quick way first. */
int test_locks_take(const struct djs_handler* handler, int nmi);
void test_locks_release(const struct djs_handler* handler);

/* What the machine has to give; what djs_allocate() makes of it. */
extern volatile long test_pages_available;
void* test_allocate(u64 bytes);
/* The allocations of the whole runtime that still succeed. */
extern volatile long test_allocations_left;
#ifdef __cplusplus
}
#endif
#endif
