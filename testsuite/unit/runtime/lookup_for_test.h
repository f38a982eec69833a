/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table that tells a hit's site (runtime/sites/lookup.c), with multipliers that a test
 * determines. */
#ifndef DJSTAP_LOOKUP_FOR_TEST_H
#define DJSTAP_LOOKUP_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
int test_lookup_update(void);
void test_lookup_exit(void);
const struct djs_site* test_find_site(const struct djs_handler* handler, u64 return_address);

/* How many multipliers were asked for, and how many of the first are 1, with which keys collide. */
extern u32 test_draws, test_bad_draws;
/* The bytes of the largest allocation, and waits for handlers. */
extern u64 test_lookup_largest;
extern u32 test_lookup_drains;
/* How often others could run meanwhile. */
extern u32 test_lookup_rests;
#ifdef __cplusplus
}
#endif
#endif
