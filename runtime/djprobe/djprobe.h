/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Direct calls, and who is inside functions with return djprobes. */
#ifndef DJSTAP_DJPROBE_MECHANISM_H
#define DJSTAP_DJPROBE_MECHANISM_H

#include "sites/drain.h"
#include "sites/mechanism.h"

/* After djs_drain_handlers, which does not wait for who sleeps in a function that ever had a return
 * djprobe: waits up to two seconds for those. Where some go on sleeping it names them, closes the
 * way to return handlers, and keeps the module from being unloaded until they have returned. */
void djs_inside_drain(void);
/* However long it takes. Before anything is freed. */
void djs_inside_finish(void);
u64 djs_inside_count(void);

#endif
