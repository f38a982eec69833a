/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wait after detaching, for this runtime and for modules with djprobes of their own (capi).
 */
#ifndef DJSTAP_DRAIN_H
#define DJSTAP_DRAIN_H

#include <linux/rcupdate.h>

/* No reference count guards the text and trampolines that lead into handlers: waits until every
 * task has been seen elsewhere, so that no handler that was entered before is still running. May
 * sleep. */
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
