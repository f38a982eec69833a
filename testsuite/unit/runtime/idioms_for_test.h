/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sources of the kernel's runtime use of its headers in common, once for all tests. */
#ifndef DJSTAP_IDIOMS_FOR_TEST_H
#define DJSTAP_IDIOMS_FOR_TEST_H

#include <stddef.h>
#include <stdint.h>

#include "linux/atomic.h"

#define DIV_ROUND_UP(n, by) (((n) + (by) - 1) / (by))
#define container_of(pointer, type, member) ((type*)((char*)(pointer) - offsetof(type, member)))

#define IS_ERR(pointer) ((unsigned long)(pointer) >= -4095ul)
#define PTR_ERR(pointer) ((long)(pointer))
#define ERR_PTR(error) ((void*)(long)(error))
#define PTR_ERR_OR_ZERO(pointer) (IS_ERR(pointer) ? (int)PTR_ERR(pointer) : 0)

/* As the kernel's, it is more than there can be where the product overflows. */
static inline size_t test_struct_size(size_t beginning, size_t each, size_t count) {
    size_t bytes;

    return __builtin_mul_overflow(each, count, &bytes) ||
                   __builtin_add_overflow(bytes, beginning, &bytes)
               ? SIZE_MAX
               : bytes;
}
#define struct_size(pointer, member, count)                                                        \
    test_struct_size(sizeof(*(pointer)), sizeof(*(pointer)->member), count)

static inline int atomic_cmpxchg(atomic_t* place, int old, int value) {
    return __sync_val_compare_and_swap(&place->counter, old, value);
}
static inline int atomic_xchg(atomic_t* place, int value) {
    return __atomic_exchange_n(&place->counter, value, __ATOMIC_SEQ_CST);
}
#endif
