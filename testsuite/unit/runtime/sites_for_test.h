/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a script (runtime/sites/sites.c), as a session finds them. */
#ifndef DJSTAP_SITES_FOR_TEST_H
#define DJSTAP_SITES_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
int djs_sites_init(void);
void djs_sites_exit(void);
void djs_sites_lock(void);
void djs_sites_unlock(void);
u32 djs_sites_failed_count(void);
extern u32 djs_mechanisms_used;
extern bool djs_mechanisms_unknown;

bool test_sites_are_locked(void);
extern u32 test_pins_reported;
/* What other sources make of the sites fails. */
extern int test_sites_lookup_error, test_sites_placed_error;
/* Messages of the session, a line each. */
extern char test_sites_log[1024];
/* Where the kernel's own code is, from which its bias is known. */
u64 test_sites_kernel(void);
/* A site between djs_sites_init and djs_sites_exit. */
struct test_site_now {
    u64 address, probe;
    u32 image, mechanism;
    int next; /* number; -1: none */
    bool follows, absent;
};
struct test_site_now test_site_now(u32 number);
bool test_sites_exist(void);
/* Its mechanism cannot attach it. */
void test_site_fails(u32 number, int error, const char* why);
#ifdef __cplusplus
}
#endif
#endif
