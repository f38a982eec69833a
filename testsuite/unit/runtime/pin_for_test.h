/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_PIN_FOR_TEST_H
#define DJSTAP_PIN_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
/* runtime/sites/pin.c, under names of its own. */
void test_pin(u32 count, int error);
bool test_pinned(void);
void test_pin_report(void);
/* How often a removal sleeps until the test ends it; 0: it does not wait. */
u32 test_pin_sleeps(void);

extern char test_pin_log[1024];
extern u32 test_pin_references;
extern bool test_pin_is_unloaded, test_pin_ftrace_dead;
/* What is pinned, and reported. */
void test_pin_forget(void);
#ifdef __cplusplus
}
#endif
#endif
