/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's hash tables, as far as capi_for_test.c needs them. */
#ifndef DJSTAP_TEST_HASHTABLE_H
#define DJSTAP_TEST_HASHTABLE_H
#include "linux/rculist.h"

#define DEFINE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define hash_long(number, bits) ((number) >> 3 & ((1ul << (bits)) - 1))
#define hlist_for_each_entry_rcu_notrace(each, head, member)                                       \
    hlist_for_each_entry(each, head, member)
#endif
