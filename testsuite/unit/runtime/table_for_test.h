/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's table of direct calls (runtime/djprobe/table.c), as kernels with a limit have it. */
#ifndef DJSTAP_TABLE_FOR_TEST_H
#define DJSTAP_TABLE_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The lowest address of the kernel. */
#define TEST_KERNEL 0x7ffffffff000ul

struct test_table {
    unsigned long size_bits, buckets, count;
};
extern struct test_table test_table;
extern struct test_table* test_table_address; /* the kernel's variable */
extern bool test_has_table_symbol, test_has_switch;
/* The kernel places a kprobe there, though it is no code. */
extern bool test_table_kprobe_is_placed;
extern char test_table_log[512];

/* A table with 100 entries, which nobody has looked for. */
void test_table_begin(void);
/* `is_known`: the script knows where the variable is. */
u32 test_table_room(bool is_known, u32 own);
void test_table_lock(void);
#ifdef __cplusplus
}
#endif
#endif
