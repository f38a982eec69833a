// SPDX-License-Identifier: GPL-2.0-or-later
// The events that djstap itself attaches to threads of a program. The kernel derives those of their
// threads and children from them, and releases these with them.
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "perf/perf.h"

#ifdef DJS_HAVE_REMOVE_ON_EXEC

struct djs_followed *djs_followed;
u32 djs_followed_count;

/* The events of a thread, one for each probe; NULL: it has none of that probe. */
struct root {
	struct list_head link;
	struct perf_event *events[];
};
static LIST_HEAD(roots);
static u32 root_count;
/* More roots than this are reason to look for those that are over. */
#define ROOTS_UNTIL_SWEEP 64
static u32 sweep_at = ROOTS_UNTIL_SWEEP;
/* Protects the roots, and makes finding out that a task lacks an event and attaching it one step.
 * Nests inside the sites' lock. */
static DEFINE_MUTEX(roots_mutex);

static DJS_HANDLER_CODE void
followed_overflowed(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct djs_followed *followed = event->overflow_handler_context;

	if (READ_ONCE(followed->open))
		djs_perf_hit(followed->run, regs);
}

/*
 * ---- what a task has ----------------------------------------------------------------------------
 */

static DJS_HANDLER_CODE bool context_has_event(const struct perf_event_context *context,
					       const struct djs_followed *followed)
{
	const struct perf_event *event;

	list_for_each_entry (event, &context->event_list, event_entry)
		if (event->overflow_handler_context == followed &&
		    event->overflow_handler == followed_overflowed)
			return true;
	return false;
}

/* Two tasks of one family exchange their contexts when a CPU switches from one to the other, which
 * takes the locks of both contexts. */
static DJS_HANDLER_CODE bool place_has_event(struct perf_event_context *const *place,
					     const struct djs_followed *followed)
{
	struct perf_event_context *context;
	bool has = false, exchanged = true;
	unsigned long flags;

	rcu_read_lock();
	while (exchanged && (context = READ_ONCE(*place))) {
		raw_spin_lock_irqsave(&context->lock, flags);
		exchanged = context != READ_ONCE(*place);
		if (!exchanged)
			has = context_has_event(context, followed);
		raw_spin_unlock_irqrestore(&context->lock, flags);
	}
	rcu_read_unlock();
	return has;
}

/*
 * The events that a task inherits are complete before it can be found; later, only an exec takes
 * them away, and then the task itself looks again.
 */
static DJS_HANDLER_CODE bool has_event(struct task_struct *task,
				       const struct djs_followed *followed)
{
#ifdef DJS_HAVE_PERF_CONTEXTS
	u32 i;

	for (i = 0; i < ARRAY_SIZE(task->perf_event_ctxp); i++)
		if (place_has_event(&task->perf_event_ctxp[i], followed))
			return true;
	return false;
#else
	return place_has_event(&task->perf_event_ctxp, followed);
#endif
}

DJS_HANDLER_CODE bool djs_roots_lack(struct task_struct *task)
{
	u32 i;

	for (i = 0; i < djs_followed_count; i++)
		if (READ_ONCE(djs_followed[i].anchor) &&
		    djs_program_of_still(&djs_followed[i].program, task) &&
		    !has_event(task, &djs_followed[i]))
			return true;
	return false;
}

/* A task may open any number of events for itself. If there are more that are newer than djstap's,
 * its count reads 0: the program has only itself to blame. */
#define EVENTS_SEARCHED 256

static DJS_HANDLER_CODE struct perf_event *
event_in_context(const struct perf_event_context *context, const struct djs_followed *followed)
{
	struct perf_event *event;
	u32 seen = 0;

	if (!context)
		return NULL;
	/* Interrupts are disabled, which keeps events of the list from being freed. */
	list_for_each_entry_rcu(event, &context->event_list, event_entry, true)
	{
		if (event->overflow_handler_context == followed &&
		    event->overflow_handler == followed_overflowed)
			return event;
		if (++seen == EVENTS_SEARCHED)
			break;
	}
	return NULL;
}

DJS_HANDLER_CODE s64 djs_roots_count(const struct djs_followed *followed)
{
	struct perf_event *event = NULL;
#ifdef DJS_HAVE_PERF_CONTEXTS
	u32 i;

	for (i = 0; i < ARRAY_SIZE(current->perf_event_ctxp) && !event; i++)
		event = event_in_context(READ_ONCE(current->perf_event_ctxp[i]), followed);
#else
	event = event_in_context(READ_ONCE(current->perf_event_ctxp), followed);
#endif
	return djs_perf_count(event);
}

static bool lacks_event(struct task_struct *task, const struct djs_followed *followed)
{
	return followed->anchor && djs_program_of(&followed->program, task) &&
	       !has_event(task, followed);
}

/* ---- attaching and releasing: with roots_mutex ------------------------------------------------
 */

static void release_event(struct perf_event **event)
{
	perf_event_release_kernel(*event);
	*event = NULL;
}

/* True if its task, and all that inherited it, have exited or executed a program. The kernel holds
 * a reference for each that inherited it. */
static bool event_is_over(const struct perf_event *event)
{
	return READ_ONCE(event->state) <= PERF_EVENT_STATE_EXIT &&
	       atomic_long_read(&event->refcount) == 1;
}

static bool root_is_empty(const struct root *root)
{
	u32 i;

	for (i = 0; i < djs_followed_count; i++)
		if (root->events[i])
			return false;
	return true;
}

static void drop_if_empty(struct root *root)
{
	if (!root_is_empty(root))
		return;
	list_del(&root->link);
	root_count--;
	kfree(root);
}

static void sweep_roots(void)
{
	struct root *root, *next;
	u32 i;

	list_for_each_entry_safe(root, next, &roots, link)
	{
		for (i = 0; i < djs_followed_count; i++)
			if (root->events[i] && event_is_over(root->events[i]))
				release_event(&root->events[i]);
		drop_if_empty(root);
	}
	sweep_at = root_count + max(root_count / 2, (u32)ROOTS_UNTIL_SWEEP);
}

static struct root *make_root(void)
{
	struct root *root;

	if (root_count >= min(sweep_at, djs_script.max_perf_threads))
		sweep_roots();
	if (root_count >= djs_script.max_perf_threads)
		return ERR_PTR(-ENOSPC);
	root = kzalloc(struct_size(root, events, djs_followed_count), GFP_KERNEL);
	if (!root)
		return ERR_PTR(-ENOMEM);
	list_add(&root->link, &roots);
	root_count++;
	return root;
}

static int attach_event(struct task_struct *task, const struct djs_followed *followed,
			struct perf_event **out)
{
	struct perf_event_attr attr = followed->attr;
	struct perf_event *event = perf_event_create_kernel_counter(
	    &attr, -1, task, followed_overflowed, (void *)followed);

	if (IS_ERR(event))
		return PTR_ERR(event) == -ESRCH ? 0 : PTR_ERR(event); /* -ESRCH: it exits */
	*out = event;
	/* It may have executed another program before it had the event. */
	if (task != current && !djs_program_of(&followed->program, task))
		release_event(out);
	return 0;
}

static int attach_lacking(struct task_struct *task)
{
	struct root *root = NULL;
	int error = 0, failure;
	u32 i;

	for (i = 0; i < djs_followed_count; i++) {
		if (!lacks_event(task, &djs_followed[i]))
			continue;
		if (!root)
			root = make_root();
		if (IS_ERR(root))
			return PTR_ERR(root);
		failure = attach_event(task, &djs_followed[i], &root->events[i]);
		error = error ?: failure;
	}
	if (root)
		drop_if_empty(root);
	return error;
}

int djs_roots_attach(struct task_struct *task)
{
	int error;

	mutex_lock(&roots_mutex);
	error = attach_lacking(task);
	mutex_unlock(&roots_mutex);
	return error;
}

void djs_roots_release(struct djs_followed *followed)
{
	struct perf_event *anchor = followed->anchor;
	u32 i = followed - djs_followed;
	struct root *root, *next;

	WRITE_ONCE(followed->open, false);
	mutex_lock(&roots_mutex);
	WRITE_ONCE(followed->anchor, NULL); /* from here on, nothing is attached */
	list_for_each_entry_safe(root, next, &roots, link)
	{
		if (root->events[i])
			release_event(&root->events[i]);
		drop_if_empty(root);
	}
	mutex_unlock(&roots_mutex);
	perf_event_release_kernel(anchor);
}

/*
 * ---- the tasks that exist -----------------------------------------------------------------------
 */

#define BATCH 128

/* Returns how many tasks lack an event, and references to the first of them. */
static u64 find_lacking(struct task_struct **found, u32 *found_count)
{
	struct task_struct *process, *task;
	u64 lacking = 0;
	u32 i;

	*found_count = 0;
	rcu_read_lock();
	for_each_process_thread(process, task)
	{
		bool is_lacking = false;

		for (i = 0; i < djs_followed_count && !is_lacking; i++)
			is_lacking = lacks_event(task, &djs_followed[i]);
		if (!is_lacking)
			continue;
		lacking++;
		if (*found_count < BATCH)
			found[(*found_count)++] = get_task_struct(task);
	}
	rcu_read_unlock();
	return lacking;
}

/* Whoever executes the program or is created meanwhile is seen by follow.c: all that exist when
 * this begins have to be visited once. */
s64 djs_roots_attach_all(void)
{
	struct task_struct **found = kmalloc_array(BATCH, sizeof(*found), GFP_KERNEL);
	u32 count, failed, i;
	u64 lacking;

	if (!found)
		return -ENOMEM;
	do {
		lacking = find_lacking(found, &count);
		for (i = 0, failed = 0; i < count; i++) {
			failed += djs_roots_attach(found[i]) != 0;
			put_task_struct(found[i]);
		}
	} while (lacking > count && failed < count);
	kfree(found);
	return failed + lacking - count;
}
#endif
