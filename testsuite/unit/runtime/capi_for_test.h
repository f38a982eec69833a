/* SPDX-License-Identifier: GPL-2.0-or-later */
/* djprobes of modules that are written by hand (runtime/capi/djprobe.c), where a test says what the
 * kernel does. */
#ifndef DJSTAP_CAPI_FOR_TEST_H
#define DJSTAP_CAPI_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_DJPROBES 4
#define TEST_SOFTIRQ 0x100u
#define TEST_INTERRUPT 0x10000u
#define TEST_NMI 0x100000u

struct test_djprobe {
    bool has_symbol, has_address, has_handler;
    bool unreadable,
        at_zero; /* its address: nothing is there, or the function of the first probe */
    int unknown; /* the error for its symbol */
    const char*
        begins_with; /* what its function has in front of its site: "pad!", "seal"; NULL: nothing */
    u32 hits;
    bool is_registered; /* it belongs to a set */
};
extern struct test_djprobe test_djprobes[TEST_DJPROBES];
/* Where the kernel is, and which processor this is. */
extern u32 test_preempt_count, test_processor;
/* The probe whose function each handler calls, and where; -1: none. */
extern int test_handler_calls;
extern u32 test_handler_level;
/* The kernel's answers. */
extern int test_capi_enabled, test_filter_fails, test_direct_fails, test_unregister_fails;
extern u32 test_direct_room;
extern bool test_calls_stay, test_module_is_live;
extern char test_capi_log[2048];

void test_capi_begin(void);
int test_capi_register(const int* numbers, int count);
/* False: it would never return. */
bool test_capi_unregister(int number);
unsigned long test_capi_missed(int number);
/* A call of the probe's function. */
void test_capi_call(int number);
#ifdef __cplusplus
}
#endif
#endif
