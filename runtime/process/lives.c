// SPDX-License-Identifier: GPL-2.0-or-later
// process.begin, .end, .thread.begin and .thread.end. The kernel tells of execs, forks and exits; a
// new task, and one that exists already when the session starts, is told to begin on its way to
// user mode. One that sleeps in a system call gets there whenever that ends.
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "process/members.h"
#include "process/process.h"
#include "tasks/tasks.h"

#ifdef DJS_HAVE_TRACEPOINTS

static bool is_following;

/* ---- handlers -------------------------------------------------------------------------------- */

static DJS_HANDLER_CODE void run_handlers(u64 moment, const struct djs_program *program)
{
	u32 i;

	for (i = 0; i < djs_process_site_count; i++)
		if (djs_process_moment(&djs_process_sites[i]) == moment &&
		    READ_ONCE(djs_process_sites[i].run->armed) &&
		    djs_process_site_wants(&djs_process_sites[i], program, current->tgid))
			djs_process_hit(&djs_process_sites[i], NULL);
}

static DJS_HANDLER_CODE bool has_handler(u64 moment)
{
	u32 i;

	for (i = 0; i < djs_process_site_count; i++)
		if (djs_process_moment(&djs_process_sites[i]) == moment)
			return true;
	return false;
}

static DJS_HANDLER_CODE void run_due(const struct djs_process_due *due)
{
	preempt_disable_notrace();
	if (due->process_begins)
		run_handlers(DJS_PROCESS_BEGIN, &due->program);
	if (due->thread_begins)
		run_handlers(DJS_PROCESS_THREAD_BEGIN, &due->program);
	if (due->thread_ends)
		run_handlers(DJS_PROCESS_THREAD_END, &due->program);
	if (due->process_ends)
		run_handlers(DJS_PROCESS_END, &due->program);
	preempt_enable_notrace();
}

static DJS_HANDLER_CODE bool is_life_wanted(const struct djs_program *program, pid_t process)
{
	u32 i;

	for (i = 0; i < djs_process_site_count; i++)
		if (djs_process_moment(&djs_process_sites[i]) < DJS_PROCESS_SYSCALL &&
		    !djs_process_sites[i].run->error &&
		    djs_process_site_wants(&djs_process_sites[i], program, process))
			return true;
	return false;
}

/* Returns whether a handler wants the life of a process, and what it executes. The task keeps its
 * mm meanwhile. */
static DJS_HANDLER_CODE bool is_process_wanted(const struct task_struct *task,
					       struct djs_program *program)
{
	return djs_program_executed(program, task) && is_life_wanted(program, task->tgid) &&
	       djs_is_in_tree(task);
}

/* ---- what a task is to do on its way to user mode -------------------------------------------- */

static void begin_current(void)
{
	struct djs_process_due due;

	if (!READ_ONCE(is_following))
		return;
	djs_member_runs(current->pid, &due);
	run_due(&due);
}

static DJS_WORKS(begin_current, beginnings);

/* ---- execs, forks and exits ------------------------------------------------------------------ */

static DJS_HANDLER_CODE void life_executes(void *unused, struct task_struct *task, pid_t old_pid,
					   struct linux_binprm *binary)
{
	struct djs_program next = {};
	struct djs_process_due due;
	bool wanted;

	if (task->tgid == djs_traced_pid)
		WRITE_ONCE(djs_traced_executes, false);
	if (!READ_ONCE(is_following))
		return;
	wanted = is_process_wanted(task, &next);
	wanted = djs_member_executes(task->tgid, old_pid, wanted ? &next : NULL, &due);
	run_due(&due);
	if (!wanted)
		return;
	due = (struct djs_process_due){.process_begins = true, .program = next};
	run_due(&due);
}

static DJS_HANDLER_CODE void life_forks(void *unused, struct task_struct *parent,
					struct task_struct *child)
{
	struct djs_program program = {};
	bool is_thread = child->tgid == parent->tgid, is_new;

	if (!READ_ONCE(is_following))
		return;
	if (is_thread)
		is_new = djs_member_add_thread(child->pid, child->tgid);
	else
		is_new = is_process_wanted(child, &program) && djs_member_add(child->pid, &program);
	if (is_new && has_handler(is_thread ? DJS_PROCESS_THREAD_BEGIN : DJS_PROCESS_BEGIN))
		/* Without memory it begins when it ends. */
		djs_works_add(&beginnings, child, GFP_NOWAIT | __GFP_NOWARN);
}

static DJS_HANDLER_CODE void life_exits(void *unused, struct task_struct *task)
{
	struct djs_process_due due;

	if (!READ_ONCE(is_following))
		return;
	djs_member_exits(task->pid, task->tgid, !atomic_read(&task->signal->live), &due);
	run_due(&due);
}

static struct djs_task_event life_events[] = {
    {.name = "sched_process_exec", .callback = life_executes},
    {.name = "sched_process_fork", .callback = life_forks},
    {.name = "sched_process_exit", .callback = life_exits},
};

/* ---- the tasks that exist -------------------------------------------------------------------- */

struct existing {
	struct task_struct *task;
	bool is_new; /* it was added */
};

/* Workers of io_uring and their like count as threads of a process, but run no program. */
#ifdef PF_USER_WORKER
#define NEVER_IN_USER_MODE (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)
#else
#define NEVER_IN_USER_MODE (PF_KTHREAD | PF_IO_WORKER)
#endif

/* Returns how many threads of programs there are, with references to the first `room` of them. */
static u32 find_threads(struct existing *found, u32 room)
{
	struct task_struct *process, *thread;
	u32 count = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread)
	{
		if (thread->flags & NEVER_IN_USER_MODE)
			continue;
		if (count < room)
			found[count] = (struct existing){get_task_struct(thread)};
		count++;
	}
	rcu_read_unlock();
	return count;
}

static void put_threads(struct existing *found, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		put_task_struct(found[i].task);
	kvfree(found);
}

/* NULL: there is no memory. */
static struct existing *all_threads(u32 *count)
{
	u32 room = 0;
	struct existing *found = NULL;

	for (*count = find_threads(NULL, 0); *count > room; *count = find_threads(found, room)) {
		put_threads(found, room);
		room = *count + *count / 4 + 64;
		found = kvcalloc(room, sizeof(*found), GFP_KERNEL);
		if (!found) {
			*count = 0;
			break;
		}
	}
	return found;
}

/* The task keeps its mm meanwhile. An exec that replaces it later is told by the kernel after that,
 * and finds the process. */
static void expect_process(struct task_struct *task)
{
	struct djs_program program = {};

	rcu_read_lock();
	task_lock(task);
	if (is_process_wanted(task, &program))
		djs_member_expect(task->tgid, &program);
	task_unlock(task);
	rcu_read_unlock();
}

static bool add_existing(const struct task_struct *task)
{
	return !(READ_ONCE(task->flags) & PF_EXITING) &&
	       djs_member_add_existing(READ_ONCE(task->pid), task->tgid);
}

/* Processes first, then their threads: one that is created in between is found by its creation, or
 * here. Each begins on its way to user mode, also if no handler wants that: a thread that has not
 * been there may be executing a program. */
static void follow_existing(void)
{
	u32 processes, threads, i;
	struct existing *first = all_threads(&processes), *second;

	for (i = 0; i < processes; i++)
		expect_process(first[i].task);
	second = all_threads(&threads);
	for (i = 0; i < threads; i++)
		second[i].is_new = add_existing(second[i].task);
	djs_members_added();
	for (i = 0; i < threads; i++)
		if (second[i].is_new)
			djs_works_add(&beginnings, second[i].task, GFP_KERNEL);
	put_threads(first, processes);
	put_threads(second, threads);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int djs_lives_start(void)
{
	int error = djs_works_open(&beginnings);

	if (!error)
		error = djs_members_init();
	if (!error)
		error = djs_task_events_start(life_events, ARRAY_SIZE(life_events));
	return error;
}

void djs_lives_begin(void)
{
	if (!life_events[0].registered)
		return;
	djs_members_adding();
	WRITE_ONCE(is_following, true);
	follow_existing();
}

void djs_lives_stop(void)
{
	if (!life_events[0].registered)
		return;
	WRITE_ONCE(is_following, false);
	djs_task_events_stop(life_events, ARRAY_SIZE(life_events));
	djs_works_close(&beginnings);
	synchronize_rcu(); /* of those that run handlers */
}

void djs_lives_free(void)
{
	djs_lives_stop(); /* if no site was ever armed */
	djs_works_free(&beginnings);
	djs_members_exit();
}
#endif
