/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the runtime inside a program share. */
#ifndef DJSTAP_INJECTED_INTERNAL_H
#define DJSTAP_INJECTED_INTERNAL_H

#include "arch/runtime.h"
#include "injected/injected.h"

const struct djs_arena *djs_arena_parts(void);
extern char *djs_slot_areas;
static inline struct djs_thread_slot *djs_slot_of(u32 number)
{
	return (struct djs_thread_slot *)(djs_slot_areas + number * DJS_USER_PERCPU_BYTES +
					  DJS_SLOT_SHARED_AT);
}

static inline struct djs_thread_slot *djs_slot_of_thread(void)
{
	return djs_slot_of(djs_percpu_word(&djs_slot_of(0)->number));
}

u32 djs_slots_active(void);			       /* how many threads are in a handler */
void djs_contexts_reset(u32 slot);		       /* the thread that had it is gone */
void djs_loader_changed(void);			       /* called by the dynamic loader's stub */
u64 djs_site_run_address(const struct djs_site *site); /* 0: it is not in the program */

#endif
