// SPDX-License-Identifier: GPL-2.0-or-later
// Slots: the memory of one thread. As with CPUs, an address in the first slot stands for all of
// them, and a thread's base is the distance of its own one. A stub compares the owner of the slot
// at that distance with the thread, and has the thread claim a slot if it is another one: a new
// thread inherits the base of the one that created it.
#include "arch/runtime.h"
#include "cpu/cpu.h"
#include "injected/internal.h"
#include "userspace/kernel.h"

u32 djs_user_cpus;
static struct djs_arena arena;
char *djs_slot_areas;
static u64 area_used;
static u64 unslotted;

static struct djs_thread_owner *owner_of(u32 number)
{
	return (struct djs_thread_owner *)(djs_slot_areas + number * DJS_USER_PERCPU_BYTES);
}

void djs_injected_init(const struct djs_arena *given)
{
	u32 i;

	arena = *given;
	djs_slot_areas = given->slots;
	djs_user_cpus = DJS_SLOTS;
	area_used = DJS_SLOT_HEADER_BYTES + DJS_USER_COUNTERS * sizeof(s64);
	for (i = 0; i < DJS_SLOTS; i++)
		djs_slot_of(i)->number = i;
	djs_slot_of(0)->nobody = DJS_NO_THREAD;
}

const struct djs_arena *djs_arena_parts(void)
{
	return &arena;
}

void *djs_arena_allocate(u64 bytes)
{
	char *memory = arena.heap;

	bytes = ALIGN(bytes, 64ull);
	if (bytes > arena.heap_bytes)
		return NULL;
	arena.heap += bytes;
	arena.heap_bytes -= bytes;
	return memory;
}

void *djs_user_percpu_alloc(u64 bytes)
{
	char *memory = djs_slot_areas + area_used;

	bytes = ALIGN(bytes, 64ull);
	if (bytes > DJS_USER_PERCPU_BYTES - area_used)
		return NULL;
	area_used += bytes;
	return memory;
}

u32 djs_slot_here(void)
{
	return djs_slot_of_thread()->number;
}

bool djs_slot_nested(void)
{
	return djs_slot_of_thread()->active > 1;
}

u32 djs_slots_active(void)
{
	u32 i, active = 0;

	for (i = 0; i < DJS_SLOTS; i++)
		active += READ_ONCE(djs_slot_of(i)->active) != 0;
	return active;
}

u64 djs_injected_unslotted(void)
{
	return READ_ONCE(unslotted);
}

static s32 this_thread(void)
{
	return (s32)djs_syscall6(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

static bool is_gone(s32 pid, s32 tid)
{
	return djs_syscall6(__NR_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH;
}

/* Whoever changes the thread's number of a slot has the slot; a signal's handler may do the same in
 * between. */
static bool take_over(u32 number, s32 from, s32 to)
{
	return __atomic_compare_exchange_n(&owner_of(number)->tid, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * Returns the slot of a thread that is gone. Once none was, each further hit asks about one slot
 * only: a thread that gets none must not pay for all of them each time.
 */
static u32 find_left(s32 pid, s32 tid)
{
	static u32 asked;
	static bool crowded;
	u32 i, most = READ_ONCE(crowded) ? 1 : DJS_SLOTS - 1;
	s32 old;

	for (; most; most--) {
		i = 1 + __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % (DJS_SLOTS - 1);
		old = READ_ONCE(owner_of(i)->tid);
		if (is_gone(pid, old) && take_over(i, old, tid)) {
			djs_contexts_reset(i);
			WRITE_ONCE(crowded, false);
			return i;
		}
	}
	WRITE_ONCE(crowded, true);
	return 0;
}

/*
 * Returns a slot for the thread with this base: the one that it has; that of a thread that had the
 * same base, and is gone; a new one; or that of another thread that is gone. 0: none.
 */
static u32 find_slot(u64 base, s32 pid, s32 tid)
{
	u32 i;
	s32 old;

	for (i = 1; i < DJS_SLOTS; i++) {
		old = READ_ONCE(owner_of(i)->tid);
		if (old == tid)
			return i;
		if (old && READ_ONCE(owner_of(i)->base) == base && take_over(i, old, tid)) {
			djs_contexts_reset(i);
			return i;
		}
	}
	for (i = 1; i < DJS_SLOTS; i++)
		if (!READ_ONCE(owner_of(i)->tid) && take_over(i, 0, tid))
			return i;
	return find_left(pid, tid);
}

int djs_slot_claim(void)
{
	u64 base = djs_thread_base();
	s32 pid = READ_ONCE(owner_of(0)->pid);
	u32 number;

	/* A child; or a thread whose library has not set up its memory yet. */
	if (!pid || !base)
		return 0;
	number = find_slot(base, pid, this_thread());
	if (!number) {
		__atomic_fetch_add(&unslotted, 1, __ATOMIC_RELAXED);
		return 0;
	}
	WRITE_ONCE(owner_of(number)->base, base);
	djs_set_percpu_base(number * DJS_USER_PERCPU_BYTES);
	return 1;
}
