/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_HASH_H
#define DJSTAP_TEST_HASH_H
#define hash_32(value, bits) ((u32)(value) & ((1u << (bits)) - 1))
#define hash_64(value, bits) ((u32)((u64)(value) * 0x61c8864680b583ebull >> (64 - (bits))))
#endif
