/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_RCULIST_H
#define DJSTAP_TEST_RCULIST_H
#include "linux/list.h"

#include "linux/rcupdate.h"
#define hlist_add_head_rcu(node, head) hlist_add_head(node, head)
#define hlist_del_rcu(node) test_hlist_unlink(node) /* those that read go on from there */
#endif
