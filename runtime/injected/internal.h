/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the runtime inside a program share. */
#ifndef DJSTAP_INJECTED_INTERNAL_H
#define DJSTAP_INJECTED_INTERNAL_H

#include "injected/injected.h"

const struct djs_arena *djs_arena_parts(void);
struct djs_thread_slot *djs_slot_of_thread(void);
u32 djs_slots_active(void);			       /* how many threads are in a handler */
u64 djs_site_run_address(const struct djs_site *site); /* 0: it is not in the program */

#endif
