// SPDX-License-Identifier: GPL-2.0-or-later
// The values from functions' entries until they return. The kernel passes nothing from a uprobe's
// entry to its return, so a call is found by its task and its return address' place on the stack;
// a function that ends in a call of another one shares its place with it, so the owner counts, too.
// What a call leaves that never returns (longjmp, the end of its task) is overwritten by the next
// call at that place, or when the room is needed: the oldest first. If that one does return, its
// values are missed, which is counted.
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cpu/memory.h"
#include "programs/programs.h"

#define CALLS_IN_BUCKET 8

enum call_state {
	CALL_FREE = 0,
	CALL_BEGINS, /* its task writes the values */
	CALL_RUNS,
	CALL_IGNORED, /* its entry was not handled */
	CALL_RETURNS  /* its task reads the values */
};

struct call {
	const struct task_struct *task;
	/* Another task, or another program, may be at the same place in memory later. */
	u64 task_started, task_executed;
	const void *owner;
	unsigned long frame;
	u32 era;
	u64 order;
	u32 state;
	u64 values[];
};

struct bucket {
	raw_spinlock_t lock;
	u32 displaced; /* calls that gave their place away and have not returned */
};

static atomic64_t calls_missed = ATOMIC64_INIT(0);

u64 djs_calls_missed(void)
{
	return atomic64_read(&calls_missed);
}

struct djs_calls {
	u32 bucket_bits;
	size_t call_bytes;
	atomic64_t order;
	u32 era;
	struct bucket *buckets;
	void *memory;
};

struct djs_calls *djs_calls_make(u32 count, u32 words)
{
	u32 i, buckets = roundup_pow_of_two(DIV_ROUND_UP(max(count, 1u), CALLS_IN_BUCKET));
	struct djs_calls *calls = kzalloc(sizeof(*calls), GFP_KERNEL);

	if (!calls)
		return NULL;
	calls->bucket_bits = ilog2(buckets);
	calls->call_bytes = sizeof(struct call) + words * sizeof(u64);
	if (!djs_memory_allows(buckets *
			       (CALLS_IN_BUCKET * calls->call_bytes + sizeof(struct bucket)))) {
		kfree(calls);
		return NULL;
	}
	calls->buckets = kvcalloc(buckets, sizeof(*calls->buckets), GFP_KERNEL);
	calls->memory = kvcalloc(buckets * CALLS_IN_BUCKET, calls->call_bytes, GFP_KERNEL);
	if (!calls->buckets || !calls->memory) {
		djs_calls_free(calls);
		return NULL;
	}
	for (i = 0; i < buckets; i++)
		raw_spin_lock_init(&calls->buckets[i].lock);
	return calls;
}

void djs_calls_free(struct djs_calls *calls)
{
	if (!calls)
		return;
	kvfree(calls->buckets);
	kvfree(calls->memory);
	kfree(calls);
}

void djs_calls_forget(struct djs_calls *calls)
{
	WRITE_ONCE(calls->era, calls->era + 1);
}

static DJS_HANDLER_CODE u32 bucket_of_call(const struct djs_calls *calls, unsigned long frame)
{
	u64 key = (u64)(unsigned long)current ^ ((u64)frame << 16);

	return calls->bucket_bits ? hash_64(key, calls->bucket_bits) : 0;
}

static DJS_HANDLER_CODE struct call *call_at(const struct djs_calls *calls, u32 bucket, u32 place)
{
	return calls->memory + (bucket * CALLS_IN_BUCKET + place) * calls->call_bytes;
}

static DJS_HANDLER_CODE bool is_in_use(const struct call *call)
{
	return call->state == CALL_BEGINS || call->state == CALL_RETURNS;
}

static DJS_HANDLER_CODE struct call *find_call(const struct djs_calls *calls, u32 bucket,
					       const void *owner, unsigned long frame)
{
	u32 i;

	for (i = 0; i < CALLS_IN_BUCKET; i++) {
		struct call *call = call_at(calls, bucket, i);

		if (call->state != CALL_FREE && call->task == current && call->frame == frame &&
		    call->owner == owner)
			return call;
	}
	return NULL;
}

static DJS_HANDLER_CODE bool is_of_current(const struct djs_calls *calls, const struct call *call)
{
	if (call->era != READ_ONCE(calls->era))
		return false;
	/* A task returns from each system call that it makes: also from execve, which gives it
	 * another number, and if it was not the first thread also the first one's age. */
	return call->frame == DJS_SYSTEM_CALL || (call->task_started == current->start_boottime &&
						  call->task_executed == current->self_exec_id);
}

/* The call's own place from before, else a free one, else that of the oldest call. Counts the
 * latter as displaced. */
static DJS_HANDLER_CODE struct call *choose_place(const struct djs_calls *calls, u32 bucket,
						  const void *owner, unsigned long frame)
{
	struct call *chosen = find_call(calls, bucket, owner, frame);
	u32 i;

	for (i = 0; i < CALLS_IN_BUCKET && !chosen; i++)
		if (call_at(calls, bucket, i)->state == CALL_FREE)
			chosen = call_at(calls, bucket, i);
	if (chosen)
		return chosen;
	for (i = 0; i < CALLS_IN_BUCKET; i++) {
		struct call *call = call_at(calls, bucket, i);

		if (!is_in_use(call) && (!chosen || call->order < chosen->order))
			chosen = call;
	}
	if (!chosen || (chosen->state == CALL_RUNS && chosen->era == READ_ONCE(calls->era)))
		calls->buckets[bucket].displaced++;
	return chosen;
}

DJS_HANDLER_CODE u64 *djs_call_begin(struct djs_calls *calls, const void *owner,
				     unsigned long frame)
{
	u32 bucket = bucket_of_call(calls, frame);
	unsigned long flags;
	struct call *call;

	raw_spin_lock_irqsave(&calls->buckets[bucket].lock, flags);
	call = choose_place(calls, bucket, owner, frame);
	if (call) {
		call->task = current;
		call->task_started = current->start_boottime;
		call->task_executed = current->self_exec_id;
		call->era = READ_ONCE(calls->era);
		call->owner = owner;
		call->frame = frame;
		call->order = atomic64_inc_return(&calls->order);
		call->state = CALL_BEGINS;
	}
	raw_spin_unlock_irqrestore(&calls->buckets[bucket].lock, flags);
	return call ? call->values : NULL;
}

/* Only the call's own task changes a state that is_in_use. */
static DJS_HANDLER_CODE void set_state(u64 *values, u32 state)
{
	smp_store_release(&container_of((u64(*)[])values, struct call, values)->state, state);
}

DJS_HANDLER_CODE void djs_call_begun(u64 *values, bool valid)
{
	set_state(values, valid ? CALL_RUNS : CALL_IGNORED);
}

DJS_HANDLER_CODE u64 *djs_call_find(struct djs_calls *calls, const void *owner, unsigned long frame)
{
	u32 bucket = bucket_of_call(calls, frame);
	bool ignored = false;
	unsigned long flags;
	struct call *call;

	raw_spin_lock_irqsave(&calls->buckets[bucket].lock, flags);
	call = find_call(calls, bucket, owner, frame);
	if (!call && calls->buckets[bucket].displaced) {
		calls->buckets[bucket].displaced--;
		atomic64_inc(&calls_missed);
	}
	if (call && !is_of_current(calls, call)) {
		call->state = CALL_FREE;
		call = NULL;
	}
	ignored = call && call->state == CALL_IGNORED;
	if (call)
		call->state = ignored ? CALL_FREE : CALL_RETURNS;
	raw_spin_unlock_irqrestore(&calls->buckets[bucket].lock, flags);
	return call && !ignored ? call->values : NULL;
}

DJS_HANDLER_CODE void djs_call_over(u64 *values)
{
	set_state(values, CALL_FREE);
}
