/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that members_for_test.c includes. */
#ifndef DJSTAP_TEST_HASH_H
#define DJSTAP_TEST_HASH_H
#define hash_32(value, bits) ((u32)(value) & ((1u << (bits)) - 1))
#endif
