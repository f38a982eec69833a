// SPDX-License-Identifier: GPL-2.0-or-later
/* What djstap's own process has of this. */
#define djs_access_init test_access_of_init
#define djs_copy_memory test_access_of_copy_memory
#define djs_describe_access test_access_of_describe_access
#define djs_describe_number test_access_of_describe_number
#define djs_fail_access test_access_of_fail_access
#define djs_fail_load test_access_of_fail_load
#define djs_fail_number test_access_of_fail_number
#define djs_fail_text test_access_of_fail_text
#define djs_is_kernel test_access_is_kernel
#define djs_load test_access_of_load
#define djs_load_user test_access_of_load_user
#define djs_read_number test_access_reads
#define djs_store test_access_of_store
#define djs_store_user test_access_of_store_user
#define djs_vfail_text test_access_of_vfail_text
#define djs_write_number test_access_writes
#include "kernel_for_test.h"

#include <linux/uaccess.h>

#include "kernel_access_for_test.h"
#include "log_for_test.h"

char test_access_log[256];
u64 test_access_word;
bool test_access_faults, test_access_has_memory, test_access_is_ok;
u32 test_access_level;
static int faults_off;

/* Nothing may wait for a page while the kernel's memory is accessed by one instruction. */
static bool accessed(const char* how, bool by_instruction, u64 size) {
    if (faults_off != by_instruction)
        abort();
    log_for_test(test_access_log, sizeof(test_access_log), "%s %u ", how, (unsigned)size);
    return !test_access_faults;
}

static int copied(const char* how, bool by_instruction, void* to, const void* from, u64 size) {
    if (!accessed(how, by_instruction, size))
        return -EFAULT;
    memcpy(to, from, size);
    return 0;
}

/* In place of cpu/level.h. */
#define DJSTAP_LEVEL_H
#define djs_level() test_access_level
#undef current
#define current (&(struct { void* mm; }){test_access_has_memory ? &test_access_word : NULL})
#undef access_ok
#define access_ok(at, size) ((void)(at), (void)(size), test_access_is_ok)
#undef pagefault_disable
#undef pagefault_enable
#define pagefault_disable() ((void)faults_off++)
#define pagefault_enable() ((void)faults_off--)
#undef copy_from_user_nofault
#undef copy_from_kernel_nofault
#undef __copy_to_user_inatomic
#define copy_from_user_nofault(to, from, size)                                                     \
    ((void)(from), copied("from-user", false, to, &test_access_word, size))
#define copy_from_kernel_nofault(to, from, size)                                                   \
    ((void)(from), copied("from-kernel", false, to, &test_access_word, size))
#define __copy_to_user_inatomic(to, from, size)                                                    \
    ((void)(to), copied("to-user", true, &test_access_word, from, size))
#undef __get_kernel_nofault
#undef __put_kernel_nofault
#define __get_kernel_nofault(to, from, type, fault)                                                \
    do {                                                                                           \
        (void)(from);                                                                              \
        if (copied("get", true, to, &test_access_word, sizeof(type)))                              \
            goto fault;                                                                            \
    } while (0)
#define __put_kernel_nofault(to, from, type, fault)                                                \
    do {                                                                                           \
        (void)(to);                                                                                \
        if (copied("put", true, &test_access_word, from, sizeof(type)))                            \
            goto fault;                                                                            \
    } while (0)

#include "access/access.c"

void test_access_begin(void) {
    if (faults_off)
        abort();
    test_access_word = 0x8877665544332211;
    test_access_faults = false;
    test_access_has_memory = test_access_is_ok = true;
    test_access_level = 0;
    test_access_log[0] = 0;
    djs_access_init();
}
