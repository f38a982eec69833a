/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's table of direct calls, for this runtime and for modules with djprobes of their own
 * (capi).
 */
#ifndef DJSTAP_TABLE_H
#define DJSTAP_TABLE_H

#include <linux/fs.h>
#include <linux/types.h>

/*
 * Returns how many more direct calls are possible, where this module has `own` of them; those of
 * other users count, too. `symbol`: the address of the kernel's variable direct_functions; 0: it is
 * looked up. Task context.
 */
u32 djs_direct_room(unsigned long symbol, u32 own);

/* Serializes all of djstap's modules from asking for room until the calls are registered; NULL: the
 * lock is unavailable. Task context. */
struct file *djs_direct_lock(void);
void djs_direct_unlock(struct file *lock);

#endif
