// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and threads that are followed, by their numbers. Whatever adds, changes or removes
// one holds the lock for a moment; who is not followed is found missing without it.
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cpu/memory.h"
#include "process/process.h"

#define MEMBERS_MAX 32768
#define MEMBER_BITS 12

/* A process, or a thread of one. */
struct member {
	struct member *next; /* in its list, or free */
	pid_t number;
	bool begun;
	/* a thread */
	struct member *process;
	/* a process */
	u32 threads;
	bool executed; /* another program, which nobody follows, while it was being added */
	struct djs_program program;
};

static struct member *all_members, *free_members;
static struct member *process_lists[1 << MEMBER_BITS], *thread_lists[1 << MEMBER_BITS];
static DEFINE_RAW_SPINLOCK(members_lock);
static atomic64_t members_missed = ATOMIC64_INIT(0);

int djs_members_init(void)
{
	u32 i;

	if (!djs_memory_allows(MEMBERS_MAX * sizeof(*all_members)))
		return -ENOMEM;
	all_members = kvcalloc(MEMBERS_MAX, sizeof(*all_members), GFP_KERNEL);
	if (!all_members)
		return -ENOMEM;
	for (i = 0; i < MEMBERS_MAX; i++) {
		all_members[i].next = free_members;
		free_members = &all_members[i];
	}
	return 0;
}

void djs_members_exit(void)
{
	kvfree(all_members);
	all_members = NULL;
	free_members = NULL;
}

u64 djs_members_missed(void)
{
	return atomic64_read(&members_missed);
}

static DJS_HANDLER_CODE struct member **list_of(struct member **lists, pid_t number)
{
	return &lists[hash_32(number, MEMBER_BITS)];
}

/* A list is as long as numbers collide, and never longer than the table. */
static DJS_HANDLER_CODE struct member *find_member(struct member **lists, pid_t number)
{
	struct member *member = *list_of(lists, number);

	while (member && member->number != number)
		member = member->next;
	return member;
}

static DJS_HANDLER_CODE struct member *add_member(struct member **lists, pid_t number)
{
	struct member *member = free_members, **list = list_of(lists, number);

	if (!member) {
		atomic64_inc(&members_missed);
		return NULL;
	}
	free_members = member->next;
	*member = (struct member){.number = number, .next = *list};
	WRITE_ONCE(*list, member);
	return member;
}

static DJS_HANDLER_CODE void remove_member(struct member **lists, struct member *member)
{
	struct member **at = list_of(lists, member->number);

	while (*at != member)
		at = &(*at)->next;
	WRITE_ONCE(*at, member->next);
	member->next = free_members;
	free_members = member;
}

static DJS_HANDLER_CODE bool add_thread(pid_t number, struct member *process)
{
	struct member *thread;

	if (!process || process->executed || find_member(thread_lists, number))
		return false;
	thread = add_member(thread_lists, number);
	if (!thread)
		return false;
	thread->process = process;
	process->threads++;
	return true;
}

/* Returns its process if that has no other thread; it is removed, too. */
static DJS_HANDLER_CODE bool remove_thread(struct member *thread)
{
	struct member *process = thread->process;

	remove_member(thread_lists, thread);
	if (--process->threads)
		return false;
	remove_member(process_lists, process);
	return true;
}

DJS_HANDLER_CODE bool djs_member_is_process(pid_t number)
{
	unsigned long flags;
	bool is;

	if (!READ_ONCE(*list_of(process_lists, number)))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	is = find_member(process_lists, number);
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return is;
}

bool djs_member_expect(pid_t number, const struct djs_program *program)
{
	struct member *process = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&members_lock, flags);
	if (!find_member(process_lists, number))
		process = add_member(process_lists, number);
	if (process) {
		process->program = *program;
		process->threads = 1; /* until djs_member_seen */
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return process;
}

void djs_member_seen(pid_t number)
{
	struct member *process;
	unsigned long flags;

	raw_spin_lock_irqsave(&members_lock, flags);
	process = find_member(process_lists, number);
	if (process && !--process->threads)
		remove_member(process_lists, process);
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

DJS_HANDLER_CODE bool djs_member_add_thread(pid_t thread, pid_t process)
{
	unsigned long flags;
	bool is_new;

	if (!READ_ONCE(*list_of(process_lists, process)))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	is_new = add_thread(thread, find_member(process_lists, process));
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return is_new;
}

/* A process with one thread. */
static DJS_HANDLER_CODE bool add_process(pid_t number, const struct djs_program *program)
{
	struct member *process;

	if (find_member(process_lists, number))
		return false;
	process = add_member(process_lists, number);
	if (!process)
		return false;
	process->program = *program;
	if (add_thread(number, process))
		return true;
	remove_member(process_lists, process);
	return false;
}

DJS_HANDLER_CODE bool djs_member_add(pid_t number, const struct djs_program *program)
{
	unsigned long flags;
	bool added;

	raw_spin_lock_irqsave(&members_lock, flags);
	added = add_process(number, program);
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return added;
}

static DJS_HANDLER_CODE void begin_process(struct member *process, struct djs_process_due *due)
{
	due->process_begins = !process->begun;
	due->program = process->program;
	process->begun = true;
}

/* The first thread of a process has its number, and begins and ends with the process alone. */
static DJS_HANDLER_CODE void begin_thread(struct member *thread, struct djs_process_due *due)
{
	due->thread_begins = !thread->begun && thread->number != thread->process->number;
	thread->begun = true;
	begin_process(thread->process, due);
}

DJS_HANDLER_CODE void djs_member_runs(pid_t number, struct djs_process_due *due)
{
	struct member *thread;
	unsigned long flags;

	*due = (struct djs_process_due){};
	raw_spin_lock_irqsave(&members_lock, flags);
	thread = find_member(thread_lists, number);
	if (thread)
		begin_thread(thread, due);
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

DJS_HANDLER_CODE void djs_member_exits(pid_t number, struct djs_process_due *due)
{
	struct member *thread;
	unsigned long flags;

	*due = (struct djs_process_due){};
	if (!READ_ONCE(*list_of(thread_lists, number)))
		return;
	raw_spin_lock_irqsave(&members_lock, flags);
	thread = find_member(thread_lists, number);
	if (thread) {
		begin_thread(thread, due);
		due->thread_ends = number != thread->process->number;
		due->process_ends = remove_thread(thread);
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

/* Its last thread, which takes its number, goes on to another program. */
static DJS_HANDLER_CODE void continue_process(struct member *process, struct member *thread,
					      const struct djs_program *next)
{
	remove_member(thread_lists, thread);
	process->threads--;
	process->program = *next;
	thread = add_member(thread_lists, process->number); /* there is room */
	thread->process = process;
	thread->begun = true;
	process->threads++;
}

DJS_HANDLER_CODE bool djs_member_executes(pid_t number, pid_t old, const struct djs_program *next,
					  struct djs_process_due *due)
{
	struct member *process, *thread;
	unsigned long flags;
	bool begins = false;

	*due = (struct djs_process_due){};
	if (!next && !READ_ONCE(*list_of(process_lists, number)))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	process = find_member(process_lists, number);
	thread = find_member(thread_lists, old);
	if (process && thread && thread->process == process) {
		begin_thread(thread, due);
		due->thread_ends = old != number;
		due->process_ends = true;
		begins = next;
		if (next)
			continue_process(process, thread, next);
		else
			remove_thread(thread);
	} else if (process && !next) {
		process->executed = true; /* before its threads were seen: it is to be forgotten */
	} else if (process) {
		process->program = *next;
		process->executed = false;
		process->begun = true;
		begins = add_thread(number, process);
		if (begins)
			find_member(thread_lists, number)->begun = true;
	} else if (next && add_process(number, next)) {
		begins = find_member(thread_lists, number)->begun = true;
		find_member(process_lists, number)->begun = true;
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return begins;
}

void djs_member_forget(pid_t number)
{
	struct member *thread;
	unsigned long flags;

	raw_spin_lock_irqsave(&members_lock, flags);
	thread = find_member(thread_lists, number);
	if (thread)
		remove_thread(thread);
	raw_spin_unlock_irqrestore(&members_lock, flags);
}
