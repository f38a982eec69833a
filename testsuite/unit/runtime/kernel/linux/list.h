/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_LIST_H
#define DJSTAP_TEST_LIST_H
#include <stdbool.h>
#include <stddef.h>

struct hlist_node {
    struct hlist_node *next, **pprev;
};
struct hlist_head {
    struct hlist_node* first;
};

#define HLIST_HEAD(name) struct hlist_head name = {NULL}
#define INIT_HLIST_HEAD(head) ((void)((head)->first = NULL))
#define hlist_entry(node, type, member) container_of(node, type, member)
#define test_entry_safe(node, type, member)                                                        \
    ({                                                                                             \
        struct hlist_node* node_ = (node);                                                         \
        node_ ? hlist_entry(node_, type, member) : NULL;                                           \
    })
#define hlist_for_each_entry(at, head, member)                                                     \
    for ((at) = test_entry_safe((head)->first, __typeof__(*(at)), member); at;                     \
         (at) = test_entry_safe((at)->member.next, __typeof__(*(at)), member))
#define hlist_for_each_entry_safe(at, after, head, member)                                         \
    for ((at) = test_entry_safe((head)->first, __typeof__(*(at)), member);                         \
         (at) && ((after) = (at)->member.next, true);                                              \
         (at) = test_entry_safe(after, __typeof__(*(at)), member))

static inline bool hlist_empty(const struct hlist_head* head) {
    return !head->first;
}

static inline void hlist_add_head(struct hlist_node* node, struct hlist_head* head) {
    node->next = head->first;
    node->pprev = &head->first;
    if (head->first)
        head->first->pprev = &node->next;
    head->first = node;
}

static inline void test_hlist_unlink(struct hlist_node* node) {
    *node->pprev = node->next;
    if (node->next)
        node->next->pprev = node->pprev;
    node->pprev = NULL; /* whoever takes it off again ends the test */
}

/* As does whoever goes on from there: nothing is mapped at such an address. */
static inline void hlist_del(struct hlist_node* node) {
    test_hlist_unlink(node);
    node->next = (struct hlist_node*)0x100;
}
#endif
