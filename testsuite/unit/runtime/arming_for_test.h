/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arming and disarming (runtime/control/{arming,mechanisms}.c), with mechanisms that only note what
 * they are asked for. */
#ifndef DJSTAP_ARMING_FOR_TEST_H
#define DJSTAP_ARMING_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_ARMING_SITES = 6 };

/* A site at run time. Fields that a test sets are taken over before each call, and told after it.
 */
struct test_arming_site {
    u32 mechanism, image;
    int error;
    bool absent, armed, was_armed, disarmed, wanted;
    u64 probe, missed;
    u8 fallback;
    bool has_data;
    /* What the rest of the runtime says. */
    bool unwanted;      /* its condition is false */
    bool at_fentry;     /* a kprobe there is based on ftrace */
    bool shares;        /* is disarmed with others of its direct call's ops */
    bool stays;         /* it cannot be detached */
    int attach_error;   /* the failure of this site; 0: none */
    int returned_error; /* the failure of its whole mechanism */
};
extern struct test_arming_site test_arming_sites[TEST_ARMING_SITES];

/* A word for each call, and the text of each message. "kprobe.attach(02)": these sites, which are
 * armed then; disarm, detach and forget likewise. */
extern char test_arming_log[2048];

extern int test_arming_enabled;      /* kernel.ftrace_enabled, or an error */
extern int test_arming_enable_error; /* of setting it */
extern int test_arming_keep_error, test_arming_let_go_error;
extern int test_arming_follow_error, test_arming_sites_error, test_arming_modules_error,
    test_arming_livepatch_error;
extern bool test_arming_followed, test_arming_pinned;
extern bool test_arming_unknown; /* a site's mechanism is none of mechanisms.def */
extern bool test_arming_ftrace_dead;

void test_arming_begin(void);
int test_arming_init(void);
void test_arming_exit(void);
int test_arming_arm(void);
void test_arming_rearm(void);
void test_arming_disarm(void);
/* The module of this image is unloaded. */
void test_arming_forget(u32 image);
/* What watches the time that handlers take found this one; false: nothing watches it. */
bool test_arming_overload(u32 owner, u32 percent);
u64 test_arming_missed(u32 site);
void test_arming_handlers_run(void);
bool test_arming_is_locked(void);
#ifdef __cplusplus
}
#endif
#endif
