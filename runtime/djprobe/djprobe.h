/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Direct calls, and the tasks that are inside functions with return djprobes. */
#ifndef DJSTAP_DJPROBE_MECHANISM_H
#define DJSTAP_DJPROBE_MECHANISM_H

#include "sites/drain.h"
#include "sites/mechanism.h"

/* Marks the sites that share their direct calls' ops with one that is marked as disarmed. */
void djs_direct_disarm_sharing(void);

/* Called after djs_drain_handlers, which does not wait for tasks that sleep in a function that
 * ever had a return djprobe: waits up to two seconds for those. If some keep sleeping, it names
 * them, disables return handlers, and prevents the module from being unloaded until they have
 * returned. */
void djs_inside_drain(void);
/* Waits without a limit. Call it before anything is freed. */
void djs_inside_finish(void);
u64 djs_inside_count(void);

#endif
