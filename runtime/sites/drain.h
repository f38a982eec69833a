/* SPDX-License-Identifier: GPL-2.0-or-later
 * The wait after a detach, for this runtime and for modules that have djprobes of their own (capi).
 */
#ifndef DJSTAP_DRAIN_H
#define DJSTAP_DRAIN_H

#include <linux/rcupdate.h>

/* Handlers are entered from text and from trampolines that no reference count guards: waits until
 * every task has been seen elsewhere, and so no handler runs that was entered before. May sleep. */
static inline void djs_drain_handlers(void)
{
#ifdef DJS_HAVE_RCU_TASKS_RUDE
	synchronize_rcu_tasks_rude();
#endif
#ifdef DJS_HAVE_RCU_TASKS
	synchronize_rcu_tasks();
#endif
	synchronize_rcu();
}

#endif
