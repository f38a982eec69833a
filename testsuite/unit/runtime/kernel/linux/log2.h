/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_LOG2_H
#define DJSTAP_TEST_LOG2_H
#define ilog2(n) (31u - (u32)__builtin_clz(n))
static inline u32 roundup_pow_of_two(u32 n) {
    return n <= 1 ? 1 : 2u << ilog2(n - 1);
}
#endif
