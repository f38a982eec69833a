/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime inside a probed program (djstap --runtime=process). Its sources are those of the
 * runtime in user space (userspace/), except that:
 *
 *   - It is linked, together with the script's object, into an arena: memory that djstap and the
 * program share, at the same addresses. djstap allocates and initializes everything, and runs begin
 * and end probes and timers there, as CPU 0; the program runs the handlers of its functions.
 *   - A "CPU" is a slot of a thread. A thread claims one at its first hit (threads.c).
 *   - A signal may interrupt a handler and hit a probe: what a slot holds is safe from that, as in
 * the kernel from interrupts.
 *   - It needs no library: libc.c has what the sources call.
 */
#ifndef DJSTAP_INJECTED_H
#define DJSTAP_INJECTED_H

#include "include/script.h"
#include "userspace/userspace.h"

/* The most threads of the program at the same time, and one for djstap. */
#define DJS_SLOTS DJS_USER_CPUS_MAX

/* The first page of each slot's area. The program's own, and empty after a fork: a child has no
 * slots. */
struct djs_thread_owner {
	u64 base; /* djs_thread_base() of the thread that has the slot; 0: none */
	s32 tid;  /* its number; 0: nobody has claimed the slot */
	s32 pid;  /* in the first slot: the process; 0: this one is a child */
};
#define DJS_NO_THREAD UINT64_MAX /* a base that no thread has */

/* The second page, which is shared. Handlers without a context use the ring by instructions of
 * their own. */
struct djs_thread_slot {
	u64 head; /* the ring, as in struct djs_cpu */
	u64 limit;
	char *data;
	u64 mask;
	u32 number;
	u32 active; /* handlers of this thread, of which all but the last were interrupted by a
		       signal */
	u64 nobody; /* DJS_NO_THREAD */
};
#define DJS_SLOT_SHARED_AT    4096u
#define DJS_SLOT_HEADER_BYTES 8192u
/* The distance that a program begins with: a thread finds an owner there that it never is, also in
 * a child whose pages of owners are zeros, and if its own base is zero. */
#define DJS_NO_SLOT (DJS_SLOT_SHARED_AT + offsetof(struct djs_thread_slot, nobody))

/* Where the arena has what. */
struct djs_arena {
	char *heap;
	u64 heap_bytes;
	char *slots; /* DJS_SLOTS areas of DJS_USER_PERCPU_BYTES */
	char *rings; /* for each slot: a page, and the ring's data twice in a row */
	/* tz_gmtoff() and tz_name() */
	s64 seconds_west;
	char zone[64];
	s64 processors; /* of the machine */
};

/* A place in the program from which a handler is called. */
struct djs_place {
	u64 return_address; /* of the stub's call */
	u64 site;	    /* the first one there */
};

/* Those of one file. djstap changes them when the program maps or unmaps the file. */
struct djs_places {
	u64 begin, end;			/* of its stubs */
	const struct djs_place *places; /* sorted by their return addresses */
	u32 count;
};

/* What the program and djstap tell each other when the program has mapped or unmapped a library:
 * the program asks until djstap has nothing more to map. */
struct djs_loader_range {
	u64 at, bytes; /* no bytes: nothing */
};
struct djs_loader {
	u32 asked;			    /* the number of the program's last question */
	u32 answered;			    /* the last one that djstap has answered */
	struct djs_loader_range unmap, map; /* the answer */
	s64 mapped;			    /* where the program has mapped that, or an error */
	u32 state;
};
/* Of struct djs_loader. Whoever changes it from the first one decides whether djstap may still
 * change the code of a library that the program has mapped. */
enum {
	DJS_LOADER_WAITS = 0,
	DJS_LOADER_IS_ANSWERED = 1, /* djstap is at work: the program waits for that */
	DJS_LOADER_IS_DEAF = 2,	    /* djstap was not in time: it is not asked again */
	DJS_LOADER_IS_OVER = 3
}; /* nor is it when the script has ended */

/* A function whose returns are probed. */
struct djs_returning {
	u32 first; /* its first number in the list of sites */
	u32 count;
	u64 address; /* at run time */
};
/* The argument of a stub is twice the number of the function, and 1 at its returns. */
#define DJS_AT_RETURN 1u
/* Or this one, where the dynamic loader tells that it has mapped or unmapped libraries. */
#define DJS_AT_LOADER (UINT32_MAX - 1)

#ifdef __cplusplus
extern "C" {
#endif

/* Called by djstap, in this order; then djs_user_runtime.load. */
void djs_injected_init(const struct djs_arena *arena);
/* After that. `biases` are those of the script's segments: what is added to link-time addresses. */
void djs_injected_places(const struct djs_places *files, u32 count, unsigned long *biases);
/* Where the program asks. */
struct djs_loader *djs_injected_loader(void);
/* The same for functions whose returns are probed, and the sites of all of them. Returns -ENOMEM if
 * there is no memory for what they keep from their entries. */
int djs_injected_returns(const struct djs_returning *functions, u32 count, const u32 *sites);
/* Returns that were not handled, as what their entry kept was gone. */
u64 djs_injected_unmatched(void);
/* Called by djs_hit_entry in the program. */
void djs_injected_hit(u64 *registers, u32 argument);
/* Allocates memory of the arena, zeroed; NULL: there is no more. */
void *djs_arena_allocate(u64 bytes);
/* The program has ended, or executes another one: what its threads held is free, and no thread is
 * in a handler. */
void djs_injected_gone(void);
/* Before end probes: no more handlers begin. Returns how many threads are in one. */
u32 djs_injected_settle(void);
/* Hits of threads that got no slot. */
u64 djs_injected_unslotted(void);

/* Returns whether this thread has a slot from now on. */
int djs_slot_claim(void);

#ifdef __cplusplus
}
#endif
#endif
