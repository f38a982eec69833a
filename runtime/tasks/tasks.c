// SPDX-License-Identifier: GPL-2.0-or-later
// Works of tasks, and the tracepoints that tell of tasks.
#include <linux/kprobes.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "tasks/tasks.h"

/* ---- works ----------------------------------------------------------------------------------- */

static int (*add_task_work)(struct task_struct *task, struct callback_head *work,
			    enum task_work_notify_mode mode);

/* Not every kernel exports task_work_add. register_kprobe resolves a symbol before it refuses the
 * address, and a disabled kprobe changes no code. */
int djs_works_find(void)
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

DJS_HANDLER_CODE void djs_works_begin(struct djs_works *works)
{
	atomic_inc(&works->due);
}

DJS_HANDLER_CODE int djs_works_add(struct djs_works *works, struct task_struct *task,
				   struct callback_head *work, task_work_func_t function)
{
	int error;

	init_task_work(work, function);
	error = add_task_work(task, work, TWA_RESUME);
	if (error)
		djs_works_end(works);
	return error;
}

DJS_HANDLER_CODE void djs_works_end(struct djs_works *works)
{
	if (atomic_dec_and_test(&works->due))
		wake_up(&works->queue);
}

void djs_works_wait(struct djs_works *works)
{
	wait_event(works->queue, !atomic_read(&works->due));
}

void djs_works_leave(void)
{
#ifdef DJS_HAVE_RCU_TASKS
	synchronize_rcu_tasks();
#endif
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
