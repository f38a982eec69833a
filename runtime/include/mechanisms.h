/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of each mechanism (mechanisms.def), for the runtime, the compiler and readers. */
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
	/* --mechanism may select it. */
	DJS_CAN_BE_FORCED = 1 << 0,
	/* Attaching it changes ftrace's state, whatever the address. */
	DJS_USES_FTRACE = 1 << 1,
	/* All its sites in a function share that function's one direct call. */
	DJS_IS_DIRECT = 1 << 2,
	/* Its site is an fentry site: its address is not the function's. */
	DJS_AT_FENTRY = 1 << 3,
	/* It is one of djstap's own kprobes; or it contains one. At an fentry site the kernel makes
	 * it an ftrace-based kprobe. */
	DJS_IS_KPROBE = 1 << 4,
	DJS_HAS_KPROBE = 1 << 5,
	/* A handler that needs no context is called by (void *, struct pt_regs *). */
	DJS_TAKES_REGS = 1 << 6,
	/* The handler has a callback of its own, compiled for the site. */
	DJS_HAS_CALLBACK = 1 << 7,
	/* A handler that walks long arrays may run in a task; namely in the one that was hit. */
	DJS_RUNS_IN_TASK = 1 << 8,
	DJS_IS_TASK = 1 << 9,
	/* Its sites are in files that processes map: the address of a hit depends on the process.
	 */
	DJS_IN_PROGRAM = 1 << 10,
};

/* True if the mechanism has any of these capabilities. */
static inline bool djs_mechanism_can(u32 mechanism, u32 capabilities)
{
	static const u16 of[] = {
#define DJS_MECHANISM(id, id_, name, ops, flags) flags,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
	};

	return mechanism < DJS_MECHANISM_COUNT && (of[mechanism] & capabilities);
}

/* Returns "" for an unknown mechanism. */
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
