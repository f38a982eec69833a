/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what is read under RCU is read
 * between these two, or the test ends. */
#ifndef DJSTAP_TEST_RCUPDATE_H
#define DJSTAP_TEST_RCUPDATE_H
#include <stdlib.h>
extern int test_rcu_depth;
struct rcu_head {
    void* unused;
};
#define rcu_read_lock() ((void)test_rcu_depth++)
#define rcu_read_unlock() (test_rcu_depth > 0 ? (void)test_rcu_depth-- : abort())
#define rcu_dereference(pointer) (test_rcu_depth > 0 ? (pointer) : (abort(), (pointer)))
void test_synchronize_rcu(void);
#define synchronize_rcu() test_synchronize_rcu()
void test_free_after_readers(const void* memory);
#define kvfree_rcu(memory, member) ((void)&(memory)->member, test_free_after_readers(memory))
#endif
