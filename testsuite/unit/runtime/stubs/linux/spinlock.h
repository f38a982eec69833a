/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that members_for_test.c includes: one thread uses them. */
#ifndef DJSTAP_TEST_SPINLOCK_H
#define DJSTAP_TEST_SPINLOCK_H
#define DEFINE_RAW_SPINLOCK(name) int name
#define raw_spin_lock_irq(lock) ((void)++*(lock))
#define raw_spin_unlock_irq(lock) ((void)--*(lock))
#define raw_spin_lock_irqsave(lock, flags) ((void)++*(lock), (flags) = 0)
#define raw_spin_unlock_irqrestore(lock, flags) ((void)--*(lock), (void)(flags))
#endif
