/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control file of a script's module (runtime/control/proc.c). */
#ifndef DJSTAP_PROC_FOR_TEST_H
#define DJSTAP_PROC_FOR_TEST_H

#include "include/script.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
/* There are three processors, of which the second one is not possible. */
enum { TEST_PROC_CPUS = 3, TEST_PROC_RING_PAGES = 5, TEST_PROC_SYMBOL_PAGES = 6 };
/* Flags of a mapping, as the kernel has them. */
enum {
    TEST_VM_READ = 0x1,
    TEST_VM_WRITE = 0x2,
    TEST_VM_EXEC = 0x4,
    TEST_VM_MAYWRITE = 0x20,
    TEST_VM_MAYSHARE = 0x80,
    TEST_VM_DONTCOPY = 0x20000,
    TEST_VM_DONTEXPAND = 0x40000,
    TEST_VM_DONTDUMP = 0x4000000
};

/* A word for each call, each page that is mapped, and the text of each message. */
extern char test_proc_log[1024];
extern bool test_proc_may_open, test_proc_is_unloaded, test_proc_is_owned;
extern int test_proc_references; /* to the module */
extern const char* test_proc_module_name;
extern bool test_proc_refuses_file, test_proc_has_file;
extern int test_proc_start_error, test_proc_switch_error;
extern int test_proc_page_left; /* how many pages can be mapped */
extern bool test_proc_faults;   /* the caller's memory */
/* The caller: whether it is in a PID namespace, and the number of the process that it knows as 7;
 * 0: there is none. */
extern bool test_proc_is_in_namespace;
extern int test_proc_real_number;
extern s32 test_proc_traced;
extern bool test_proc_executes;
extern struct djs_control_page test_proc_control;
extern u32 test_proc_site_mechanism, test_proc_site_fallback;
extern int test_proc_site_error;

enum { TEST_PROC_READS = 1, TEST_PROC_WRITES = 2 };
void test_proc_begin(void);
int test_proc_init(void);
void test_proc_exit(void);
int test_proc_open(unsigned mode);
int test_proc_release(unsigned mode);
ssize_t test_proc_read(char* to, size_t size, loff_t* at);
unsigned test_proc_poll(void);
/* Maps `pages` from that page of the file on. Returns 0 or an error, and in `*flags` those of the
 * mapping. */
int test_proc_mmap(unsigned mode, u64 page, u64 pages, unsigned long* flags);
long test_proc_ioctl(unsigned mode, unsigned command, void* argument);
#ifdef __cplusplus
}
#endif
#endif
