/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and address spaces that are made up, for the test of runtime/ustack/. */
#ifndef DJSTAP_USTACK_FOR_TEST_H
#define DJSTAP_USTACK_FOR_TEST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
struct rcu_head {
    void* unused;
};
extern "C" {
#endif

#include "ustack/ustack.h"

/* The file has these bytes from now on; NULL: those that it has. */
struct file* test_image_file(const char* text, u64 bytes);
/* So much of a file is read at a time; after so many reads each returns this. */
extern u64 test_read_most;
extern long test_reads_left, test_read_result;
/* The current task is being killed. */
extern bool test_is_killed;

/* One of a few address spaces, how many users it has, and how often it is kept. */
enum { TEST_SPACES = 3 };
struct mm_struct* test_space(u32 number);
void test_set_users(u32 number, int users);
int test_space_references(u32 number);
/* A list of mappings, with memory for so many of them. */
struct djs_user_map* test_make_map(u32 count, u64 order);
void test_free_map(struct djs_user_map* map);
/* Runs what is queued; returns whether anything was. */
bool test_run_queued(void);
bool test_is_queued(void);

#ifdef __cplusplus
}
#endif
#endif
