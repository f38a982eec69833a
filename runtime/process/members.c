// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and threads that are followed, by their numbers. Whatever adds, changes or removes
// one holds the lock for a moment; who is not followed is found missing without it.
//
// When the session starts, the processes and threads that exist are looked for and added one after
// the other, while they execute programs, exit and create others. Until all have been added, a
// process is kept whose threads are over, and what is over is remembered: it may be found later.
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cpu/memory.h"
#include "process/members.h"

#define MEMBERS_MAX 32768
#define MEMBER_BITS 12

/* A process, or a thread of one. */
struct member {
	struct member *next; /* in its list, or free */
	pid_t number;
	bool begun;
	/* Nothing more is due of it: a thread is over; so is the process, or it executes what
	 * nobody follows. */
	bool over;
	/* a thread */
	struct member *process; /* NULL: it is over */
	bool existed;		/* when the session started */
	/* a process */
	u32 threads; /* that are not over */
	bool kept;   /* until all threads that exist have been added */
	struct djs_program program;
};

static struct member *all_members, *free_members;
static struct member *process_lists[1 << MEMBER_BITS], *thread_lists[1 << MEMBER_BITS];
static bool adding_members; /* those that exist already */
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

/* ---- the lists: with the lock ---------------------------------------------------------------- */

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

/* `at`: what points to it in its list. */
static DJS_HANDLER_CODE void remove_at(struct member **at)
{
	struct member *member = *at;

	WRITE_ONCE(*at, member->next);
	member->next = free_members;
	free_members = member;
}

static DJS_HANDLER_CODE void remove_member(struct member **lists, const struct member *member)
{
	struct member **at = list_of(lists, member->number);

	while (*at != member)
		at = &(*at)->next;
	remove_at(at);
}

/* Returns a thread that is not over. */
static DJS_HANDLER_CODE struct member *find_thread(pid_t number)
{
	struct member *thread = find_member(thread_lists, number);

	return thread && !thread->over ? thread : NULL;
}

/* NULL: the thread is known already, or there is no room. `is_certain`: whoever had the number
 * before is over. */
static DJS_HANDLER_CODE struct member *add_thread(pid_t number, struct member *process,
						  bool is_certain)
{
	struct member *thread;

	if (!process || process->over)
		return NULL;
	thread = find_member(thread_lists, number);
	if (thread && !(thread->over && is_certain))
		return NULL;
	if (!thread)
		thread = add_member(thread_lists, number);
	if (!thread)
		return NULL;
	thread->over = false;
	thread->begun = false;
	thread->existed = !is_certain;
	thread->process = process;
	process->threads++;
	return thread;
}

/* The number of a thread that is over, as far as it may still be taken for one that exists. */
static DJS_HANDLER_CODE void remember_over(pid_t number)
{
	struct member *thread;

	if (!adding_members || find_member(thread_lists, number))
		return;
	thread = add_member(thread_lists, number);
	if (thread)
		thread->over = true;
}

static DJS_HANDLER_CODE void end_thread(struct member *thread)
{
	pid_t number = thread->number;

	thread->process->threads--;
	remove_member(thread_lists, thread);
	remember_over(number);
}

/* A process that has begun is not over before its end is due. */
static DJS_HANDLER_CODE bool is_of_no_use(const struct member *process)
{
	return !process->kept && !process->threads && (process->over || !process->begun);
}

static DJS_HANDLER_CODE void drop_of_no_use(struct member *process)
{
	if (is_of_no_use(process))
		remove_member(process_lists, process);
}

/* ---- those that exist already ---------------------------------------------------------------- */

void djs_members_adding(void)
{
	raw_spin_lock_irq(&members_lock);
	adding_members = true;
	raw_spin_unlock_irq(&members_lock);
}

void djs_member_expect(pid_t number, const struct djs_program *program)
{
	struct member *process = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&members_lock, flags);
	if (!find_member(process_lists, number))
		process = add_member(process_lists, number);
	if (process) {
		process->program = *program;
		process->kept = true;
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

bool djs_member_add_existing(pid_t thread, pid_t process)
{
	unsigned long flags;
	bool is_new;

	if (!READ_ONCE(*list_of(process_lists, process)))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	is_new = add_thread(thread, find_member(process_lists, process), false);
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return is_new;
}

static void forget_what_is_over(u32 list)
{
	struct member **at;

	for (at = &thread_lists[list]; *at;)
		if ((*at)->over)
			remove_at(at);
		else
			at = &(*at)->next;
	for (at = &process_lists[list]; *at;) {
		(*at)->kept = false;
		if (is_of_no_use(*at))
			remove_at(at);
		else
			at = &(*at)->next;
	}
}

void djs_members_added(void)
{
	u32 i;

	raw_spin_lock_irq(&members_lock);
	adding_members = false;
	raw_spin_unlock_irq(&members_lock);
	for (i = 0; i < 1 << MEMBER_BITS; i++) {
		raw_spin_lock_irq(&members_lock);
		forget_what_is_over(i);
		raw_spin_unlock_irq(&members_lock);
	}
}

/* ---- new ones -------------------------------------------------------------------------------- */

DJS_HANDLER_CODE bool djs_member_add_thread(pid_t thread, pid_t process)
{
	unsigned long flags;
	bool is_new;

	if (!READ_ONCE(*list_of(process_lists, process)))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	is_new = add_thread(thread, find_member(process_lists, process), true);
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return is_new;
}

/* The process may have been found before the kernel tells of it, or another one that had its
 * number. */
static DJS_HANDLER_CODE struct member *add_process(pid_t number, const struct djs_program *program)
{
	struct member *process = find_member(process_lists, number), *thread;

	if (process && process->threads)
		return NULL;
	if (!process)
		process = add_member(process_lists, number);
	if (!process)
		return NULL;
	process->program = *program;
	process->begun = false;
	process->over = false;
	thread = add_thread(number, process, true);
	if (!thread)
		drop_of_no_use(process);
	return thread;
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

/* ---- beginnings and ends --------------------------------------------------------------------- */

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

static DJS_HANDLER_CODE void end_process(struct member *process, struct djs_process_due *due)
{
	if (!process->begun || process->over)
		return;
	due->process_ends = true;
	due->program = process->program;
	process->over = true;
}

DJS_HANDLER_CODE void djs_member_runs(pid_t number, struct djs_process_due *due)
{
	struct member *thread;
	unsigned long flags;

	*due = (struct djs_process_due){};
	raw_spin_lock_irqsave(&members_lock, flags);
	thread = find_thread(number);
	if (thread)
		begin_thread(thread, due);
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

DJS_HANDLER_CODE void djs_member_exits(pid_t number, pid_t process_number, bool is_last,
				       struct djs_process_due *due)
{
	struct member *process, *thread;
	unsigned long flags;

	*due = (struct djs_process_due){};
	if (!READ_ONCE(*list_of(process_lists, process_number)) && !READ_ONCE(adding_members))
		return;
	raw_spin_lock_irqsave(&members_lock, flags);
	process = find_member(process_lists, process_number);
	thread = process ? find_thread(number) : NULL;
	if (thread) {
		begin_thread(thread, due);
		due->thread_ends = number != process_number;
		end_thread(thread);
	} else {
		remember_over(number);
	}
	/* While a process is kept, there may be threads of it that have not been added. */
	if (process && !process->threads && (is_last || !process->kept)) {
		end_process(process, due);
		drop_of_no_use(process);
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
}

/* The thread was executing a program already when it was found, perhaps the one that was taken for
 * what its process executes: it has not been to user mode since then. */
static DJS_HANDLER_CODE bool was_executing(const struct member *thread,
					   const struct djs_program *next)
{
	return thread->existed && !thread->begun && !thread->process->begun && next &&
	       djs_program_is_same(&thread->process->program, next);
}

/* Its last thread, which takes its number, goes on to another program. */
static DJS_HANDLER_CODE void end_program(struct member *process, struct member *thread,
					 const struct djs_program *next,
					 struct djs_process_due *due)
{
	if (thread && !was_executing(thread, next)) {
		begin_thread(thread, due);
		due->thread_ends = thread->number != process->number;
	}
	end_process(process, due);
	if (thread)
		end_thread(thread);
	process->over = true;
	drop_of_no_use(process);
}

DJS_HANDLER_CODE bool djs_member_executes(pid_t number, pid_t old, const struct djs_program *next,
					  struct djs_process_due *due)
{
	struct member *process, *thread;
	unsigned long flags;
	bool begins = false;

	*due = (struct djs_process_due){};
	if (!next && !READ_ONCE(*list_of(process_lists, number)) && !READ_ONCE(adding_members))
		return false;
	raw_spin_lock_irqsave(&members_lock, flags);
	process = find_member(process_lists, number);
	if (process) {
		/* It may have been found after it had taken the number. */
		thread = find_thread(old) ?: find_thread(number);
		end_program(process, thread, next, due);
	}
	if (old != number)
		remember_over(old);
	if (next && add_process(number, next)) {
		find_member(process_lists, number)->begun = true;
		find_member(thread_lists, number)->begun = true;
		begins = true;
	}
	raw_spin_unlock_irqrestore(&members_lock, flags);
	return begins;
}
