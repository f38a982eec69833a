/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wait for calls that have not returned (runtime/djprobe/inside.c), on a clock and with tasks
 * that a test makes up.
 */
#ifndef DJSTAP_INSIDE_FOR_TEST_H
#define DJSTAP_INSIDE_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
extern unsigned long test_inside_now; /* in milliseconds */
/* Called when the waiting task has slept: changes what follows. NULL: nothing. */
extern void (*test_inside_slept)(void);
/* The same when no handler runs any more that ran before. */
extern void (*test_inside_drained)(void);
extern s64 test_calls_inside, test_calls_of_current;
extern bool test_anybody_inside, test_last_found_inside;
extern bool test_module_goes; /* no reference of it can be taken any more */
extern u32 test_inside_gate;
/* A line for each look at tasks ("peek": at the last one that was found), wait, message and
 * reference. */
extern char test_inside_log[2048];

void test_inside_begin(void);
void test_linger_work(void);
void djs_inside_expect(void);
void djs_inside_drain(void);
void djs_inside_finish(void);
u64 djs_inside_count(void);
#ifdef __cplusplus
}
#endif
#endif
