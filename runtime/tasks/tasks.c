// SPDX-License-Identifier: GPL-2.0-or-later
// Works of tasks, and the tracepoints that tell of tasks.
#include <linux/kprobes.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>

#include "tasks/tasks.h"

/* ---- works ----------------------------------------------------------------------------------- */

static int (*add_task_work)(struct task_struct *task, struct callback_head *work,
			    enum task_work_notify_mode mode);

/* Not every kernel exports task_work_add. register_kprobe resolves a symbol before it refuses the
 * address, and a disabled kprobe changes no code. */
static int find_task_work(void)
{
	if (add_task_work)
		return 0;
#ifdef DJS_HAVE_TASK_WORK
	add_task_work = task_work_add;
#else
	struct kprobe kprobe = {.symbol_name = "task_work_add", .flags = KPROBE_FLAG_DISABLED};

	if (!register_kprobe(&kprobe))
		unregister_kprobe(&kprobe);
	add_task_work = (void *)kprobe.addr;
#endif
	return add_task_work ? 0 : -EOPNOTSUPP;
}

/* An allocation of its own. The head comes first: the kernel may free it by this address. */
struct work {
	struct callback_head head;
	struct djs_works *works;
	struct hlist_node link; /* free or added */
	bool left;		/* to the kernel */
};

/*
 * Protects the lists and numbers of all works, and what is left. Nothing is called with it that a
 * probe may be on, but for the function that unlocks it: handlers try to lock it.
 */
static DEFINE_RAW_SPINLOCK(works_lock);

/* Works that are not allocated when they are added: with PREEMPT_RT the allocator sleeps, also for
 * those who say that they must not. */
#define FREE_WORKS (IS_ENABLED(CONFIG_PREEMPT_RT) ? 128 : 16)

static DJS_HANDLER_CODE struct work *new_work(gfp_t how)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !gfpflags_allow_blocking(how))
		return NULL;
	return kzalloc(sizeof(struct work), how);
}

static DJS_HANDLER_CODE void keep_free(struct djs_works *works, struct work *work)
{
	hlist_add_head(&work->link, &works->free);
	works->free_count++;
}

/* A task that had loaded the function's address before the work was left gets here after that,
 * without sleeping on the way: djs_works_free waits for it. */
static void run_work(struct callback_head *head)
{
	struct work *work = container_of(head, struct work, head);
	struct djs_works *works = work->works;
	bool runs, is_last;

	raw_spin_lock_irq(&works_lock);
	runs = !work->left;
	if (runs) {
		hlist_del(&work->link);
		works->running++;
	}
	raw_spin_unlock_irq(&works_lock);
	if (!runs) {
		kfree(work);
		return;
	}
	works->function();
	raw_spin_lock_irq(&works_lock);
	if (works->free_count < FREE_WORKS) {
		keep_free(works, work);
		work = NULL;
	}
	is_last = !--works->running && !works->open;
	raw_spin_unlock_irq(&works_lock);
	kfree(work);
	if (is_last)
		wake_up(&works->queue);
}

/* With works_lock: `work` is about to be added to a task; NULL: one of the free ones. Returns 0 or
 * an error. */
static DJS_HANDLER_CODE int begin_adding(struct djs_works *works, struct work **work)
{
	if (!works->open)
		return -ESRCH;
	if (!*work) {
		if (hlist_empty(&works->free))
			return -ENOSPC;
		*work = hlist_entry(works->free.first, struct work, link);
		hlist_del(&(*work)->link);
		works->free_count--;
	}
	(*work)->works = works;
	hlist_add_head(&(*work)->link, &works->added);
	atomic_inc(&works->adding);
	return 0;
}

/* On an error the caller has the work again, unless it was free. */
static DJS_HANDLER_CODE int finish_adding(struct djs_works *works, struct task_struct *task,
					  struct work *work, bool was_free)
{
	unsigned long flags;
	int error;

	init_task_work(&work->head, run_work);
	error = add_task_work(task, &work->head, TWA_RESUME);
	if (error) { /* it exits */
		raw_spin_lock_irqsave(&works_lock, flags);
		hlist_del(&work->link);
		if (was_free)
			keep_free(works, work);
		raw_spin_unlock_irqrestore(&works_lock, flags);
	}
	atomic_dec(&works->adding);
	return error;
}

DJS_HANDLER_CODE int djs_works_add(struct djs_works *works, struct task_struct *task, gfp_t how)
{
	struct work *made = new_work(how), *work = made;
	unsigned long flags;
	int error;

	raw_spin_lock_irqsave(&works_lock, flags);
	error = begin_adding(works, &work);
	raw_spin_unlock_irqrestore(&works_lock, flags);
	if (!error)
		error = finish_adding(works, task, work, !made);
	if (error)
		kfree(made);
	return error;
}

DJS_HANDLER_CODE int djs_works_try(struct djs_works *works)
{
	struct work *work = NULL;
	unsigned long flags;
	int error;

	if (!raw_spin_trylock_irqsave(&works_lock, flags))
		return -EBUSY;
	error = begin_adding(works, &work);
	raw_spin_unlock_irqrestore(&works_lock, flags);
	/* Nobody who was interrupted has the lock. */
	return error ?: finish_adding(works, current, work, true);
}

int djs_works_open(struct djs_works *works)
{
	int error = find_task_work();

	works->was_open = true;
	while (!error && READ_ONCE(works->free_count) < FREE_WORKS) {
		struct work *work = kzalloc(sizeof(*work), GFP_KERNEL);

		if (!work)
			return -ENOMEM;
		raw_spin_lock_irq(&works_lock);
		keep_free(works, work);
		raw_spin_unlock_irq(&works_lock);
	}
	if (!error)
		WRITE_ONCE(works->open, true);
	return error;
}

/* Interrupts are disabled meanwhile. */
#define LEFT_AT_A_TIME 64

/* Returns whether there are more. From the store on, the task may free the work instead of
 * beginning it. The kernels on which scripts run do not check the type of a function that is
 * called. */
static bool leave_some(struct djs_works *works)
{
	struct hlist_node *next;
	struct work *work;
	u32 count = 0;
	bool more;

	raw_spin_lock_irq(&works_lock);
	hlist_for_each_entry_safe(work, next, &works->added, link)
	{
		if (count++ == LEFT_AT_A_TIME)
			break;
		hlist_del(&work->link);
		work->left = true;
		smp_store_release(&work->head.func, (task_work_func_t)(void *)kfree);
	}
	more = !hlist_empty(&works->added);
	raw_spin_unlock_irq(&works_lock);
	return more;
}

void djs_works_close(struct djs_works *works)
{
	raw_spin_lock_irq(&works_lock);
	works->open = false;
	raw_spin_unlock_irq(&works_lock);
	/* Whoever is adding a work may be in a handler, which cannot wake anybody up. */
	while (atomic_read(&works->adding))
		schedule_timeout_uninterruptible(1);
	while (leave_some(works))
		cond_resched();
	wait_event(works->queue, !READ_ONCE(works->running));
}

void djs_works_free(struct djs_works *works)
{
	struct hlist_node *next;
	struct work *work;

	if (!works->was_open)
		return;
	djs_works_close(works);
#ifdef DJS_HAVE_RCU_TASKS
	synchronize_rcu_tasks();
#endif
	synchronize_rcu(); /* suffices where the kernel does not preempt tasks */
	hlist_for_each_entry_safe(work, next, &works->free, link) kfree(work);
	INIT_HLIST_HEAD(&works->free);
	works->free_count = 0;
	works->was_open = false;
}

/* ---- execs and forks ------------------------------------------------------------------------- */

struct events {
	struct djs_task_event *all;
	u32 count;
};

static void note_event(struct tracepoint *tracepoint, void *data)
{
	const struct events *events = data;
	u32 i;

	for (i = 0; i < events->count; i++)
		if (!strcmp(tracepoint->name, events->all[i].name))
			events->all[i].tracepoint = tracepoint;
}

int djs_task_events_start(struct djs_task_event *events, u32 count)
{
	struct events all = {.all = events, .count = count};
	int error = 0;
	u32 i;

#ifdef DJS_HAVE_TRACEPOINTS
	for_each_kernel_tracepoint(note_event, &all);
#endif
	for (i = 0; i < count && !error; i++) {
		struct djs_task_event *event = &events[i];

		if (event->registered)
			continue;
		error = event->tracepoint
			    ? tracepoint_probe_register(event->tracepoint, event->callback, NULL)
			    : -ENOENT;
		event->registered = !error;
	}
	if (error)
		djs_task_events_stop(events, count);
	return error;
}

void djs_task_events_stop(struct djs_task_event *events, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (events[i].registered)
			tracepoint_probe_unregister(events[i].tracepoint, events[i].callback, NULL);
		events[i].registered = false;
	}
	tracepoint_synchronize_unregister();
}
