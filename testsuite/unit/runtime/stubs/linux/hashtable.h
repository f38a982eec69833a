/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's hash tables, as far as capi_for_test.c needs them. */
#ifndef DJSTAP_TEST_HASHTABLE_H
#define DJSTAP_TEST_HASHTABLE_H
#include <stddef.h>

struct hlist_node {
    struct hlist_node *next, **link;
};
struct hlist_head {
    struct hlist_node* first;
};

#define DEFINE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define hash_long(number, bits) ((number) >> 3 & ((1ul << (bits)) - 1))
#define hlist_entry_or_null(link, type, member)                                                    \
    ((link) ? (type*)((char*)(link) - offsetof(type, member)) : NULL)
#define hlist_for_each_entry_rcu_notrace(each, head, member)                                       \
    for ((each) = hlist_entry_or_null((head)->first, __typeof__(*(each)), member); (each);         \
         (each) = hlist_entry_or_null((each)->member.next, __typeof__(*(each)), member))

static inline void hlist_add_head_rcu(struct hlist_node* node, struct hlist_head* head) {
    node->next = head->first;
    node->link = &head->first;
    if (node->next)
        node->next->link = &node->next;
    head->first = node;
}

static inline void hlist_del_rcu(struct hlist_node* node) {
    *node->link = node->next;
    if (node->next)
        node->next->link = node->link;
}
#endif
