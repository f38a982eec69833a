/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes with mappings that are made up, for the test of runtime/ustack/prepare.c. */
#ifndef DJSTAP_PREPARE_FOR_TEST_H
#define DJSTAP_PREPARE_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TEST_PROCESSES = 4, TEST_AREAS = 64 };

/* A process: how many mappings it has, and what they are. */
struct test_area {
    u64 begin, end, page_in_file;
    bool is_code, has_file;
};
void test_set_areas(u32 process, const struct test_area* areas, u32 count);
/* It has so many, the same ones again and again. */
void test_set_area_count(u32 process, u32 count);
/* The part of the file that is mapped, as its headers tell. */
void test_set_load(u64 offset, u64 bytes, u64 address);
/* So many looks find the mappings of the process locked. */
void test_set_locked(u32 process, u32 looks);
void test_set_flags(u32 process, unsigned flags, bool has_memory);
extern u64 test_vdso;
extern bool test_prepare_is_killed;
extern int test_prepare_error;       /* the events cannot be asked for */
extern int test_prepare_probe_error; /* mappings cannot be probed */

/* runtime/ustack/ustack.h, in the task of a process. */
int test_prepare_init(u32 process);
void test_prepare_exit(void);
void test_prepare_soon(u32 process);
/* What the kernel tells. */
void test_prepare_executes(u32 process);
void test_prepare_forks(u32 parent, u32 child);
void test_prepare_shares_memory(u32 process, u32 other);
void test_prepare_maps(u32 process, bool is_code, u32 of);
/* How many works the process has; does them. */
u32 test_prepare_due(u32 process);
void test_prepare_runs(u32 process);
extern bool test_prepare_no_works;

/* Of the work that was added last: its memory may be waited for; the kernel warns if there is none.
 */
extern bool test_prepare_add_may_sleep, test_prepare_add_warns;
/* How often mappings of the process were stored, and what was stored last. */
u32 test_prepared(u32 process);
struct test_placed {
    u64 begin, end, bias;
    u32 image; /* ~0u: none; 5: the file's; 6: the kernel's */
};
u32 test_placed_count(void);
struct test_placed test_placed(u32 number);
u64 test_placed_order(void);
/* What is held: references, locks, files. */
u32 test_prepare_held(void);
extern u32 test_prepare_sleeps;
bool test_prepare_probed(void);
bool test_prepare_asked(void);

#ifdef __cplusplus
}
#endif
#endif
