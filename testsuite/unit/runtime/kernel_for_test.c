// SPDX-License-Identifier: GPL-2.0-or-later
// Memory whose end is guarded, and what is left of it.
#include "kernel_for_test.h"

#include <stdlib.h>
#include <sys/mman.h>

int test_atomic_depth, test_preempt_depth, test_rcu_depth;
unsigned test_rcu_waits;
u32 test_count_at_wait;

enum {
    PAGE = 4096,
    MOST = 4096,
    MOST_FILLED = 1 << 20,
    MOST_LATER = 64,
    MOST_FREED = 1 << 14,
    BEHIND = 0x5c /* each byte from the end of what was wanted to the guard */
};
static struct {
    char *mapping, *memory;
    size_t bytes, wanted;
} allocated[MOST];
static struct {
    char* mapping;
    size_t bytes;
} freed[MOST_FREED];
static const void* freed_later[MOST_LATER];
static u32 allocated_count, freed_count, later_count;

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
    allocated[i].wanted = wanted;
    memset(allocated[i].memory + wanted, BEHIND, (8 - wanted % 8) % 8);
    allocated_count++;
    return allocated[i].memory;
}

static void give_addresses_back(void) {
    for (; freed_count; freed_count--)
        if (munmap(freed[freed_count - 1].mapping, freed[freed_count - 1].bytes))
            abort();
}

/* Nobody gets the same addresses before all is free, so that whoever still uses them is seen. */
static void forbid(char* mapping, size_t bytes) {
    if (freed_count == MOST_FREED)
        give_addresses_back();
    if (mmap(mapping, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) != mapping)
        abort();
    freed[freed_count].mapping = mapping;
    freed[freed_count++].bytes = bytes;
}

void guarded_free(const void* memory) {
    size_t at;
    u32 i;

    if (!memory)
        return;
    for (i = 0; i < MOST && allocated[i].memory != memory; i++)
        ;
    if (i == MOST)
        abort();
    for (at = allocated[i].wanted; at % 8; at++)
        if (allocated[i].memory[at] != BEHIND)
            abort();
    forbid(allocated[i].mapping, allocated[i].bytes);
    allocated[i].memory = NULL;
    if (!--allocated_count)
        give_addresses_back();
}

void* guarded_end(void** place) {
    enum { ROOM = 16 * PAGE };
    char* mapping;

    if (!*place) {
        mapping =
            mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED || mprotect(mapping + ROOM, PAGE, PROT_NONE))
            abort();
        *place = mapping + ROOM;
    }
    return *place;
}

u32 guarded_count(void) {
    return allocated_count;
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
