/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest's agent tells of memory that nobody refers to (compiler/guest/agent/leaks.c),
 * where the test stands for kmemleak. */
#ifndef DJSTAP_LEAKS_FOR_TEST_H
#define DJSTAP_LEAKS_FOR_TEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's log is this file. */
void test_leaks_begin(const char* log);
void test_leaks_end(void);
void leaks_forget(void);
void leaks_tell(void);
/* Whether there is such a file, and whether it takes orders. */
extern int test_leaks_there, test_leaks_obeys;
/* What it reports, a page at a time. */
extern const char* test_leaks_report;
/* The orders, each with a space behind it, and the seconds before them. */
extern char test_leaks_orders[256];
/* How many files are open. */
extern int test_leaks_open;

#ifdef __cplusplus
}
#endif
#endif
