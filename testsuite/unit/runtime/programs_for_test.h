/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks and files that are made up, for the test of runtime/programs/. */
#ifndef DJSTAP_PROGRAMS_FOR_TEST_H
#define DJSTAP_PROGRAMS_FOR_TEST_H

#include "include/platform.h"

#include <sys/types.h>

struct task_struct;

#ifdef __cplusplus
#define UNLESS_GIVEN(value) = value
extern "C" {
#else
#define UNLESS_GIVEN(value)
#endif

enum { TEST_TASKS = 300, TEST_FILES = 4 };

struct test_task {
    pid_t pid UNLESS_GIVEN(0);
    pid_t tgid UNLESS_GIVEN(0);
    unsigned flags UNLESS_GIVEN(0); /* TEST_… */
    u64 started UNLESS_GIVEN(0);
    u64 executed UNLESS_GIVEN(0);
    u32 parent UNLESS_GIVEN(0); /* a number of a task */
    u32 leader UNLESS_GIVEN(0);
    u32 file UNLESS_GIVEN(TEST_FILES); /* that it executed; TEST_FILES: it has none */
    bool has_memory UNLESS_GIVEN(false);
};
enum { TEST_EXITING = 0x4, TEST_FORKED = 0x40, TEST_OF_KERNEL = 0x200000 };

struct test_file {
    const char* path;
    unsigned mode;
    u64 inode, device;
    u32 generation;
};

/* They are what these say from now on. */
void test_set_task(u32 number, const struct test_task* task);
void test_set_file(u32 number, const struct test_file* file);
struct task_struct* test_task(u32 number);
void test_be_task(u32 number);
/* Paths that were looked up and not given back; locks of tasks that are held. */
u32 test_paths_held(void);
u32 test_tasks_locked(void);

#ifdef __cplusplus
}
#endif
#endif
