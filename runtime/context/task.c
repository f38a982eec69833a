// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that run in a task, with DJS_HANDLER_IN_TASK: those of timers and of procfs files that
// walk over large arrays. Like all handlers, they hold their locks with interrupts disabled, but
// release them when they pause. A timer's interrupt queues a work item, which acts for the
// interrupted task: pid(), execname() and the memory of its process are those that a handler in the
// interrupt would see.
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "context/context.h"
#include "globals/globals.h"

static struct djs_ctx task_ctx;
static DEFINE_MUTEX(task_ctx_use);
static struct workqueue_struct *queue; /* NULL: no handler runs in a task */

struct djs_job {
	struct work_struct work;
	const struct djs_site *site;
	struct task_struct *task; /* the interrupted task */
	u32 cpu;
	u32 busy;
};

static bool any_in_task(void)
{
	u32 i;

	for (i = 0; i < djs_script.handler_count; i++)
		if (djs_script.handlers[i].flags & DJS_HANDLER_IN_TASK)
			return true;
	return false;
}

int djs_tasks_init(void)
{
	if (!any_in_task())
		return 0;
	if (djs_context_make(&task_ctx))
		return -ENOMEM;
	task_ctx.rests = DJS_RESTS_SHARED;
	/* Jobs run one at a time, in the order in which they were started. */
	queue = alloc_ordered_workqueue("%s", WQ_HIGHPRI, THIS_MODULE->name);
	return queue ? 0 : -ENOMEM;
}

void djs_tasks_exit(void)
{
	if (queue)
		destroy_workqueue(queue);
	queue = NULL;
	kvfree(task_ctx.scratch);
	task_ctx.scratch = NULL;
}

static bool may_run(const struct djs_handler *handler)
{
	return !(handler->flags & READ_ONCE(djs_gate) & ~DJS_HANDLER_IRQS_OFF);
}

/* Requires task_ctx_use. */
static void run_handler(const struct djs_handler *handler, const struct djs_site *site)
{
	struct djs_ctx *ctx = &task_ctx;

	WRITE_ONCE(ctx->handler, handler);
	ctx->site = site;
	ctx->actions = handler->max_actions;
	ctx->nesting = 0;
	djs_task_lock(ctx);
	handler->body(ctx);
	if (djs_script.iterator_count)
		djs_end_walks();
	djs_task_unlock(ctx);
	if (ctx->error) {
		preempt_disable_notrace();
		djs_report_error(ctx);
		preempt_enable_notrace();
		ctx->error = NULL;
	}
}

bool djs_run_in_task(const struct djs_handler *handler, const struct djs_site *site,
		     void (*prepare)(struct djs_ctx *ctx, void *data), void *data)
{
	bool runs;

	mutex_lock(&task_ctx_use);
	runs = may_run(handler);
	if (runs) {
		prepare(&task_ctx, data);
		run_handler(handler, site);
		task_ctx.file_text = NULL;
	}
	mutex_unlock(&task_ctx_use);
	return runs;
}

static void run_for_interrupted(const struct djs_job *job)
{
	const struct djs_handler *handler = &djs_script.handlers[job->site->handler];
	struct mm_struct *mm = get_task_mm(job->task); /* NULL: a kernel thread */

	if (mm)
		kthread_use_mm(mm);
	task_ctx.task = job->task;
	task_ctx.cpu = job->cpu;
	run_handler(handler, job->site);
	task_ctx.task = NULL;
	if (mm) {
		kthread_unuse_mm(mm);
		mmput(mm);
	}
}

static void job_done(struct djs_job *job)
{
	put_task_struct(job->task);
	job->task = NULL;
	smp_store_release(&job->busy, 0);
}

static void job_run(struct work_struct *work)
{
	struct djs_job *job = container_of(work, struct djs_job, work);

	mutex_lock(&task_ctx_use);
	if (may_run(&djs_script.handlers[job->site->handler]))
		run_for_interrupted(job);
	mutex_unlock(&task_ctx_use);
	job_done(job);
}

struct djs_job *djs_job_make(const struct djs_site *site)
{
	struct djs_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (job) {
		INIT_WORK(&job->work, job_run);
		job->site = site;
	}
	return job;
}

DJS_HANDLER_CODE void djs_job_start(struct djs_job *job)
{
	if (!may_run(&djs_script.handlers[job->site->handler]))
		return;
	if (cmpxchg(&job->busy, 0, 1)) {
		this_cpu_inc(djs_cpu.skipped_busy);
		return;
	}
	job->task = get_task_struct(current);
	job->cpu = raw_smp_processor_id();
	queue_work(queue, &job->work);
}

void djs_job_free(struct djs_job *job)
{
	if (!job)
		return;
	if (cancel_work_sync(&job->work))
		job_done(job); /* it did not start */
	kfree(job);
}
