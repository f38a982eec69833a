// SPDX-License-Identifier: GPL-2.0-or-later
// perf.….process: attaches events to the threads that run a program at the start, and to each that
// executes it later. An event cannot be attached where the kernel reports an exec. The task does it
// itself, before it returns to user space and runs the first instruction of the program.
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "perf/perf.h"
#include "tasks/tasks.h"

static atomic64_t not_followed = ATOMIC64_INIT(0);

u64 djs_perf_not_followed(void)
{
	return atomic64_read(&not_followed);
}

static bool is_site_to_follow(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_PERF && djs_is_followed(run);
}

#if defined(DJS_HAVE_REMOVE_ON_EXEC) && defined(DJS_HAVE_TRACEPOINTS)

/* ---- what a task is to do on its way to user space --------------------------------------------
 */

static const struct djs_followed *program_counters[DJS_MOST_PERF_COUNTERS];

static void visit_current(void)
{
	if (djs_roots_attach(current))
		atomic64_inc(&not_followed);
}

static DJS_WORKS(visit_current, visits);

static DJS_HANDLER_CODE void visit_soon(struct task_struct *task)
{
	if (djs_works_add(&visits, task, GFP_NOWAIT | __GFP_NOWARN) == -ENOSPC)
		atomic64_inc(&not_followed);
}

/* ---- execs and forks --------------------------------------------------------------------------
 */

static DJS_HANDLER_CODE void program_executed(void *unused, struct task_struct *task, pid_t old_pid,
					      struct linux_binprm *binary)
{
	if (task->tgid == djs_traced_pid)
		WRITE_ONCE(djs_traced_executes, false);
	if (djs_roots_lack(task))
		visit_soon(task);
}

/* Whoever is created by a thread that has the event inherits it, unless it was being attached while
 * the new task was being created. A thread that could not be followed may have followed children.
 */
static DJS_HANDLER_CODE void task_forked(void *unused, struct task_struct *parent,
					 struct task_struct *child)
{
	if (djs_roots_lack(child))
		visit_soon(child);
}

static struct djs_task_event watched[] = {
    {.name = "sched_process_exec", .callback = program_executed},
    {.name = "sched_process_fork", .callback = task_forked},
};

/* Afterwards no task is to attach anything, and none will be. */
static void stop_following(void)
{
	djs_task_events_stop(watched, ARRAY_SIZE(watched));
	djs_works_close(&visits);
}

static int start_following(void)
{
	int error = djs_works_open(&visits);

	if (!error)
		error = djs_task_events_start(watched, ARRAY_SIZE(watched));
	if (error)
		djs_works_close(&visits);
	return error;
}

/* ---- probes -----------------------------------------------------------------------------------
 */

static const char *program_failure(const struct djs_program *program, int error)
{
	if (!program->path)
		return "there is no process of -c or -x";
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return "there is no such program";
	case -EACCES:
		return "the path does not name a file";
	default:
		return "the path of the program cannot be looked up";
	}
}

static int find_program(struct djs_followed *followed)
{
	const struct djs_handler *handler = &djs_script.handlers[followed->run->site->handler];
	bool counts = djs_perf_counter(followed->run) < DJS_MOST_PERF_COUNTERS;
	int error;

	followed->program.path =
	    handler->arguments[DJS_PERF_HOW] & DJS_PERF_OF_PROGRAM ? handler->program : NULL;
	followed->attr = (struct perf_event_attr){
	    .size = sizeof(followed->attr),
	    .type = handler->arguments[DJS_PERF_TYPE],
	    .config = handler->arguments[DJS_PERF_CONFIG],
	    .freq = !counts && handler->arguments[DJS_PERF_HOW] & DJS_PERF_BY_FREQUENCY,
	    .sample_period = handler->arguments[DJS_PERF_RATE], /* or the frequency: a union */
	    .inherit = 1,
	    /* threads keep their counts when the kernel exchanges their events */
	    .inherit_stat = counts,
	    .remove_on_exec = 1,
	};
	error = djs_works_open(&visits);
	if (error == -EOPNOTSUPP)
		djs_site_failed(followed->run, error, "this kernel has no task_work_add");
	if (error)
		return error;
	error = djs_program_find(&followed->program);
	if (error)
		djs_site_failed(followed->run, error, program_failure(&followed->program, error));
	return error;
}

/* Later calls may come from a task with another root directory. */
static int find_programs(void)
{
	u32 i, count = 0;
	int error = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += is_site_to_follow(&djs_sites[i]);
	if (!count || djs_followed)
		return 0;
	djs_followed = kcalloc(count, sizeof(*djs_followed), GFP_KERNEL);
	if (!djs_followed)
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count && !error; i++) {
		if (!is_site_to_follow(&djs_sites[i]))
			continue;
		djs_followed[djs_followed_count].run = &djs_sites[i];
		error = find_program(&djs_followed[djs_followed_count++]);
	}
	return error;
}

static void prepare_event(struct djs_followed *followed)
{
	struct perf_event_attr attr = followed->attr;
	struct perf_event *anchor;

	attr.inherit = 0;
	attr.inherit_stat = 0;
	attr.remove_on_exec = 0;
	attr.disabled = 1;
	anchor = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	if (IS_ERR(anchor)) {
		djs_site_failed(followed->run, PTR_ERR(anchor),
				"this machine has no such perf event");
		return;
	}
	WRITE_ONCE(followed->anchor, anchor);
	followed->run->armed = 1;
}

int djs_follow_attach(void)
{
	int error = find_programs();
	bool any = false;
	s64 lacking;
	u32 i;

	for (i = 0; i < djs_followed_count && !error; i++) {
		struct djs_followed *followed = &djs_followed[i];

		if (followed->run->wanted && !followed->run->armed && !followed->run->error) {
			prepare_event(followed);
			any |= followed->run->armed;
		}
	}
	if (error || !any)
		return error;
	error = start_following();
	if (error)
		return error;
	lacking = djs_roots_attach_all();
	if (lacking < 0)
		return lacking;
	atomic64_add(lacking, &not_followed);
	for (i = 0; i < djs_followed_count; i++) {
		const struct djs_followed *followed = &djs_followed[i];
		u32 counter = djs_perf_counter(followed->run);

		WRITE_ONCE(djs_followed[i].open, followed->run->armed);
		if (counter < DJS_MOST_PERF_COUNTERS && followed->run->armed)
			WRITE_ONCE(program_counters[counter], followed);
	}
	return 0;
}

DJS_HANDLER_CODE s64 djs_follow_read(u32 counter)
{
	const struct djs_followed *followed = READ_ONCE(program_counters[counter]);

	return followed ? djs_roots_count(followed) : 0;
}

void djs_follow_disarm(void)
{
	bool any = false, others = false;
	u32 i;

	for (i = 0; i < djs_followed_count; i++) {
		struct djs_followed *followed = &djs_followed[i];

		if (followed->run->armed && !followed->run->wanted) {
			djs_roots_release(followed);
			followed->run->armed = 0;
			any = true;
		}
		others |= followed->run->armed;
	}
	if (any && !others)
		stop_following();
}

void djs_follow_free(void)
{
	if (djs_followed)
		djs_works_free(&visits);
	kfree(djs_followed);
	djs_followed = NULL;
	djs_followed_count = 0;
}

#else

DJS_HANDLER_CODE s64 djs_follow_read(u32 counter)
{
	return 0;
}

int djs_follow_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (is_site_to_follow(&djs_sites[i]) && !djs_sites[i].error)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this kernel cannot limit perf events to a program");
	return 0;
}

void djs_follow_disarm(void)
{
}

void djs_follow_free(void)
{
}
#endif
