/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes of memory (runtime/access/access.c) as in the kernel, of which there is one word
 * at all addresses. */
#ifndef DJSTAP_KERNEL_ACCESS_FOR_TEST_H
#define DJSTAP_KERNEL_ACCESS_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

extern u64 test_access_word;
extern bool test_access_faults;
/* Of the task: whether it has memory of a process, whether that may be at the address, the level.
 */
extern bool test_access_has_memory, test_access_is_ok;
extern u32 test_access_level;
/* How the word was accessed, and how much of it. */
extern char test_access_log[256];

void test_access_begin(void);
bool test_access_is_kernel(u64 address);
bool test_access_reads(u64 address, u32 size, u64* value);
bool test_access_writes(u64 address, u32 size, u64 value);

#ifdef __cplusplus
}
#endif
#endif
