/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A script's files below /proc (runtime/procfs/) in a file system that is made up. */
#ifndef DJSTAP_PROCFS_FOR_TEST_H
#define DJSTAP_PROCFS_FOR_TEST_H

#include "include/script.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_PROCFS_SITES = 5, TEST_PROCFS_FILES = 3, TEST_PROCFS_CALLS = 8 };

extern bool test_procfs_armed[TEST_PROCFS_SITES];
extern bool test_procfs_disarmed[TEST_PROCFS_SITES]; /* it took too much time */
/* A line for each file that is made, for each handler that runs, and for each message. */
extern char test_procfs_log[2048];

/* What the file system has: the folder of all scripts, and other scripts' folders in it. */
extern bool test_procfs_has_root, test_procfs_has_own;
extern u32 test_procfs_others;
/* Errors; 0: none. */
extern int test_procfs_mount_error, test_procfs_open_error, test_procfs_stat_error;
extern bool test_procfs_refuses_root, test_procfs_refuses_own, test_procfs_refuses_file;
/* References to the module, which may be gone; mounts and open files. */
extern int test_procfs_module, test_procfs_mounts;
extern bool test_procfs_is_unloaded;
/* Who may open it, and what was asked last: -1: nothing. */
extern bool test_procfs_may_open;
extern int test_procfs_asked;
extern bool test_procfs_is_interrupted; /* whoever waits for a mutex */
extern bool test_procfs_no_context;     /* for a handler */
extern bool test_procfs_faults;         /* a process's memory */
/* Called while a process's memory is accessed, and while somebody waits. */
extern void (*test_procfs_blocks)(void);
extern void (*test_procfs_waits)(void);
extern u32 test_procfs_waited; /* how many milliseconds */

void test_procfs_begin(void);
int test_procfs_attach(void);
void test_procfs_disarm(void);
void test_procfs_detach(void);
void test_procfs_finish(void);
bool test_procfs_is_over(void);
u64 test_procfs_calls(void);
/* Somebody's call that blocks. */
void test_procfs_call_begins(u32 number, const char* comm, pid_t pid, bool writes);
void test_procfs_call_ends(u32 number);

/* Opens a file for reading (1), writing (2) or both. Returns 0 or an error. */
int test_procfs_open(u32 descriptor, const char* name, unsigned mode);
void test_procfs_close(u32 descriptor);
ssize_t test_procfs_read(u32 descriptor, char* to, size_t size, loff_t* at);
ssize_t test_procfs_write(u32 descriptor, const char* from, size_t size);
void test_procfs_set(struct djs_ctx* ctx, const char* text);
void test_procfs_append(struct djs_ctx* ctx, const char* text);
const char* test_procfs_get(struct djs_ctx* ctx);
#ifdef __cplusplus
}
#endif
#endif
