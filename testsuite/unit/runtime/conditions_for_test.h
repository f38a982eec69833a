/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions and switches of probes, and livepatches (runtime/control/{conditions,livepatch}.c). */
#ifndef DJSTAP_CONDITIONS_FOR_TEST_H
#define DJSTAP_CONDITIONS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_CONDITION_SITES = 4 };

struct test_condition_site {
    u8 mechanism, fallback;
    bool absent, disarmed, armed;
    int next; /* the next site of its direct call; 0: none */
    bool wanted;
};
extern struct test_condition_site test_condition_sites[TEST_CONDITION_SITES];
/* A line for what is queued, each message, and each time when the session looks at its sites. */
extern char test_conditions_log[512];
extern bool test_conditions_no_context;
/* Called when the session looks at its sites. */
extern void (*test_conditions_rearm)(void);

void test_conditions_begin(void);
void test_conditions_changed(void);
/* What was queued runs. */
void test_conditions_interrupt(void);
void test_conditions_work(void);
void test_conditions_evaluate(void);
int test_conditions_switch(u32 probe, bool on);
void test_conditions_exit(void);

int test_livepatch_init(void);
void test_livepatch_exit(void);
void test_livepatch_watch(void);
void test_livepatch_ignore(void);
/* A module is loaded. */
void test_livepatch_module(bool is_live, bool is_livepatch);
#ifdef __cplusplus
}
#endif
#endif
