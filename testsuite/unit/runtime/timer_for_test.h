/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timers (runtime/timer/timer.c), which a test lets expire. */
#ifndef DJSTAP_TIMER_FOR_TEST_H
#define DJSTAP_TIMER_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_TIMERS 2
extern bool test_timer_wanted[TEST_TIMERS], test_timer_armed[TEST_TIMERS];
extern u64 test_timer_random;
extern bool test_no_job;        /* there is no memory for one */
extern s64 test_timer_interval; /* the last one that a timer was started or forwarded with */
/* A line for each handler that runs, and for each timer or job that begins or ends. */
extern char test_timer_log[1024];

void test_timers_begin(void);
int test_timers_attach(void);
void test_timers_disarm(void);
void test_timer_expires(int number);
#ifdef __cplusplus
}
#endif
#endif
