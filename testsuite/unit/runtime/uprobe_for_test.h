/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites in programs, and a kernel that calls what is placed there, for the test of runtime/uprobe/.
 */
#ifndef DJSTAP_UPROBE_FOR_TEST_H
#define DJSTAP_UPROBE_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sites of djs_script, which are all wanted and not armed. */
void test_uprobe_sites(void);
void test_uprobe_want(u32 site, bool wanted);
bool test_uprobe_armed(u32 site);
/* Why it failed; NULL: it has not. */
const char* test_uprobe_failure(u32 site);
/* What the mechanism does. */
int test_uprobe_attach(void);
void test_uprobe_disarm(void);
void test_uprobe_free(void);

/* What is registered, from what was registered first on. */
struct test_registered {
    u64 inode, offset, semaphore;
    bool is_return;
};
u32 test_registered_count(void);
struct test_registered test_registered(u32 number);
/* The task hits one. Returns what the kernel is told. */
struct test_registers {
    u64 address, stack, result;
};
int test_enters(u32 number, struct test_registers* registers);
int test_returns(u32 number, u64 function, struct test_registers* registers);

extern int test_uprobe_error; /* registering fails */
extern int test_open_error;   /* opening a file fails */
extern u32 test_files_open, test_uprobe_waits;
/* Handlers find a context; the address with which the last one ran, and for how many one is left.
 */
extern bool test_has_context;
extern u64 test_run_address;
extern u32 test_runs_at, test_contexts_left;
extern u32 test_calls_made; /* for so many calls there is room */

#ifdef __cplusplus
}
#endif
#endif
