/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sources of the kernel's runtime need beyond userspace/kernel.h, for the *_for_test.c that
 * include them. Memory ends at a page that cannot be accessed, and is gone when it is freed, as are
 * its addresses; it is refused as test_allocations_left and test_pages_available
 * (globals_for_test.h) say.
 */
#ifndef DJSTAP_KERNEL_FOR_TEST_H
#define DJSTAP_KERNEL_FOR_TEST_H

#include "globals_for_test.h"

#ifdef __cplusplus
extern "C" {
#endif
/* NULL: refused, or too much. */
void* guarded_allocate(u64 count, u64 size, int fill);
/* Of what guarded_allocate returned and is not freed, or NULL; anything else ends the test. */
void guarded_free(const void* memory);
/* Returns the end of 64 KiB of zeros, behind which nothing can be accessed: the same ones whenever
 * it is called for this place. They are not counted. */
void* guarded_end(void** place);
/* How many are not freed. */
u32 guarded_count(void);
/* How many locks with which nobody may sleep are held, and callbacks run in which nobody may. */
extern int test_atomic_depth;
/* Called by whatever may sleep: that ends the test where it must not. */
void test_may_sleep(void);
extern int test_preempt_depth; /* how often preemption was disabled */
void test_preempt_enable(void);
extern int test_rcu_depth;
extern unsigned test_rcu_waits; /* how often somebody waited for all who read */
/* Somebody waits for others, who may use whatever is not freed by then: how much that was the last
 * time. */
void test_wait_for_others(void);
extern u32 test_count_at_wait;
void test_synchronize_rcu(void);
/* Frees it when those that read have been waited for, or the test says that there are none. */
void test_free_after_readers(const void* memory);
void test_readers_are_gone(void);
#ifdef __cplusplus
}
#else

#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "idioms_for_test.h"
#include "linux/atomic.h"

/* What may wait is told from what must not. */
#undef GFP_KERNEL
#undef __GFP_ZERO
#undef __GFP_RETRY_MAYFAIL
#undef __GFP_NOWARN
#define __GFP_ZERO 0x100u
#define __GFP_DIRECT_RECLAIM 0x400u
#define __GFP_KSWAPD_RECLAIM 0x800u
#define __GFP_NOWARN 0x2000u
#define __GFP_RETRY_MAYFAIL 0x4000u
#define GFP_KERNEL (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_NOWAIT __GFP_KSWAPD_RECLAIM
#define gfpflags_allow_blocking(how) (((how) & __GFP_DIRECT_RECLAIM) != 0)
static inline void* test_allocate_as(u64 count, u64 size, int fill, unsigned how) {
    if (gfpflags_allow_blocking(how))
        test_may_sleep();
    return guarded_allocate(count, size, fill);
}

#undef kcalloc
#undef kvcalloc
#undef vzalloc
#undef kfree
#undef kvfree
#undef vfree
#undef si_mem_available
#define kzalloc(size, flags) test_allocate_as(1, size, 0, flags)
#define kvzalloc(size, flags) test_allocate_as(1, size, 0, flags)
#define vzalloc(size) test_allocate_as(1, size, 0, GFP_KERNEL)
#define kcalloc(count, size, flags) test_allocate_as(count, size, 0, flags)
#define kvcalloc(count, size, flags) test_allocate_as(count, size, 0, flags)
#define kmalloc(size, flags) test_allocate_as(1, size, 0xa5, flags)
#define kvmalloc(size, flags) test_allocate_as(1, size, 0xa5, flags)
#define kmalloc_array(count, size, flags) test_allocate_as(count, size, 0xa5, flags)
#define kvmalloc_array(count, size, flags) test_allocate_as(count, size, 0xa5, flags)
#define kfree(memory) guarded_free(memory)
#define kvfree(memory) (test_may_sleep(), guarded_free(memory))
#define vfree(memory) (test_may_sleep(), guarded_free(memory))
#define si_mem_available() test_pages_available

/* Whoever gives back what nobody has ends the test. */
static inline void test_put(int* references) {
    if (*references <= 0)
        abort();
    --*references;
}

#undef preempt_disable_notrace
#undef preempt_enable_notrace
#define preempt_disable_notrace() ((void)test_preempt_depth++)
#define preempt_enable_notrace() test_preempt_enable()

#undef copy_from_user
#define copy_from_user(to, from, bytes) test_copy_from_user(to, from, bytes)
#undef U32_MAX
#define U32_MAX UINT32_MAX
static inline s64 atomic64_add_return(s64 n, atomic64_t* a) {
    return __atomic_add_fetch(&a->counter, n, __ATOMIC_SEQ_CST);
}
static inline void atomic64_sub(s64 n, atomic64_t* a) {
    __atomic_sub_fetch(&a->counter, n, __ATOMIC_SEQ_CST);
}
unsigned long test_copy_from_user(void* to, const void* from, unsigned long bytes);
#endif
#endif
