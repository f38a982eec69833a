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

struct list_head {
    struct list_head *next, *prev;
};

#define LIST_HEAD(name) struct list_head name = {&(name), &(name)}
#define list_entry(link, type, member) container_of(link, type, member)
#define list_for_each_entry(each, head, member)                                                    \
    for ((each) = list_entry((head)->next, __typeof__(*(each)), member);                           \
         &(each)->member != (head);                                                                \
         (each) = list_entry((each)->member.next, __typeof__(*(each)), member))
#define list_for_each_entry_safe(each, behind, head, member)                                       \
    for ((each) = list_entry((head)->next, __typeof__(*(each)), member),                           \
        (behind) = list_entry((each)->member.next, __typeof__(*(each)), member);                   \
         &(each)->member != (head); (each) = (behind),                                             \
        (behind) = list_entry((behind)->member.next, __typeof__(*(each)), member))

static inline void list_add_tail(struct list_head* link, struct list_head* head) {
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_add(struct list_head* link, struct list_head* head) {
    list_add_tail(link, head->next);
}

static inline void list_del(struct list_head* link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    /* Whoever goes on from it, or takes it off again, ends the test. */
    link->next = (struct list_head*)0x100;
    link->prev = (struct list_head*)0x122;
}
#endif
