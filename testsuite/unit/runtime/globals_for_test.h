/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's storage of globals and their locks (runtime/globals/), built so that a test
 * determines the level at which it runs, and how much memory is available.
 */
#ifndef DJSTAP_GLOBALS_FOR_TEST_H
#define DJSTAP_GLOBALS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
extern volatile int test_in_nmi; /* 1: the caller is an NMI */

/* Called before something is exchanged if nobody has changed it, for whose place another CPU may be
 * faster. */
extern void (*volatile test_before_exchange)(s64* place);

/* Take and release a handler's locks like a handler: with the inline functions first. */
int test_locks_take(const struct djs_handler* handler, int nmi);
void test_locks_release(const struct djs_handler* handler);

/* The next number that is drawn at random; the one after that is greater by one. */
extern volatile u64 test_random_number;

/* The available memory, and what djs_allocate() allocates from it. */
extern volatile long test_pages_available;
void* test_allocate(u64 bytes);
/* The number of allocations in the whole runtime that still succeed. */
extern volatile long test_allocations_left;
#ifdef __cplusplus
}
#endif
#endif
