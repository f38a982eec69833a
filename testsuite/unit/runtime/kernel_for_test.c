// SPDX-License-Identifier: GPL-2.0-or-later
// Memory whose end is guarded, and what is left of it.
#include "kernel_for_test.h"

#include <stdlib.h>
#include <sys/mman.h>

int test_atomic_depth, test_preempt_depth, test_rcu_depth;
unsigned test_rcu_waits;
u32 test_count_at_wait;

enum { PAGE = 4096, MOST = 4096, MOST_FILLED = 1 << 20, MOST_LATER = 64 };
static struct {
    char *mapping, *memory;
    size_t bytes;
} allocated[MOST];
static const void* freed_later[MOST_LATER];
static u32 later_count;

void* guarded_allocate(u64 count, u64 size, int fill) {
    u64 wanted, bytes;
    char* mapping;
    u32 i;

    if (!test_allocations_left || __builtin_mul_overflow(count, size, &wanted) ||
        wanted > SIZE_MAX / 2)
        return NULL;
    test_allocations_left--;
    for (i = 0; i < MOST && allocated[i].memory; i++)
        ;
    bytes = (wanted + PAGE - 1) / PAGE * PAGE;
    mapping = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (i == MOST || mapping == MAP_FAILED || mprotect(mapping + bytes, PAGE, PROT_NONE))
        abort();
    if (fill)
        memset(mapping, fill, bytes < MOST_FILLED ? bytes : MOST_FILLED);
    allocated[i].mapping = mapping;
    allocated[i].bytes = bytes + PAGE;
    allocated[i].memory = mapping + bytes - (wanted + 7) / 8 * 8;
    return allocated[i].memory;
}

void guarded_free(const void* memory) {
    u32 i;

    if (!memory)
        return;
    for (i = 0; i < MOST && allocated[i].memory != memory; i++)
        ;
    if (i == MOST || munmap(allocated[i].mapping, allocated[i].bytes))
        abort();
    allocated[i].memory = NULL;
}

u32 guarded_count(void) {
    u32 i, count = 0;

    for (i = 0; i < MOST; i++)
        count += allocated[i].memory != NULL;
    return count;
}

void test_free_after_readers(const void* memory) {
    if (later_count == MOST_LATER)
        abort();
    freed_later[later_count++] = memory;
}

void test_readers_are_gone(void) {
    while (later_count)
        guarded_free(freed_later[--later_count]);
}

void test_wait_for_others(void) {
    test_may_sleep();
    test_count_at_wait = guarded_count();
}

void test_may_sleep(void) {
    if (test_atomic_depth || test_preempt_depth || test_rcu_depth)
        abort();
}

void test_preempt_enable(void) {
    if (!test_preempt_depth)
        abort();
    test_preempt_depth--;
}

void test_synchronize_rcu(void) {
    test_wait_for_others();
    test_rcu_waits++;
    test_readers_are_gone();
}
