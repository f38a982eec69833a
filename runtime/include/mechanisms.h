/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of each mechanism (mechanisms.def), for the runtime, the compiler and readers. */
#ifndef DJSTAP_MECHANISMS_H
#define DJSTAP_MECHANISMS_H

#include "include/platform.h"

enum djs_mechanism {
#define DJS_MECHANISM(id, ...) DJS_MECHANISM_##id,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
	DJS_MECHANISM_COUNT
};

enum djs_capability {
	/* --mechanism may ask for it. */
	DJS_CAN_BE_FORCED = 1 << 0,
	/* Attaching it changes what ftrace knows, wherever it stands. */
	DJS_USES_FTRACE = 1 << 1,
	/* Its sites share the one direct call of their function. */
	DJS_IS_DIRECT = 1 << 2,
	/* Its site is an fentry site: its address is not the function's. */
	DJS_AT_FENTRY = 1 << 3,
	/* It is a kprobe of ours; or it has one inside. At an fentry site the kernel makes it one
	 * that ftrace calls. */
	DJS_IS_KPROBE = 1 << 4,
	DJS_HAS_KPROBE = 1 << 5,
	/* A handler that needs no context is called by (void *, struct pt_regs *). */
	DJS_TAKES_REGS = 1 << 6,
	/* The handler has a callback of its own, made for what it is attached to. */
	DJS_HAS_CALLBACK = 1 << 7,
	/* A handler that walks far may run in a task; in the very one that was hit. */
	DJS_RUNS_IN_TASK = 1 << 8,
	DJS_IS_TASK = 1 << 9,
};

/* Whether it has one of these capabilities. */
static inline bool djs_mechanism_can(u32 mechanism, u32 capabilities)
{
	static const u16 of[] = {
#define DJS_MECHANISM(id, id_, name, ops, flags) flags,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
	};

	return mechanism < DJS_MECHANISM_COUNT && (of[mechanism] & capabilities);
}

/* "": there is no such mechanism. */
static inline const char *djs_mechanism_name(u32 mechanism)
{
	static const char *const of[] = {
#define DJS_MECHANISM(id, id_, name, ops, flags) name,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
	};

	return mechanism < DJS_MECHANISM_COUNT ? of[mechanism] : "";
}

#endif
