/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's lists, as far as the tests of its runtime need them: the made-up kernel has those of
 * hash tables. */
#ifndef DJSTAP_TEST_LISTS_H
#define DJSTAP_TEST_LISTS_H
#include "../../kernel/linux/list.h"

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

static inline void list_del(struct list_head* link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    /* Whoever goes on from it, or takes it off again, ends the test. */
    link->next = (struct list_head*)0x100;
    link->prev = (struct list_head*)0x122;
}
#endif
