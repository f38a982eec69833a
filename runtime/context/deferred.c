// SPDX-License-Identifier: GPL-2.0-or-later
// raise() and printk(): what takes locks of the kernel that the interrupted code may hold, and is
// therefore done by an interrupt that the handler raises. These locks are taken with interrupts
// disabled, so the interrupt comes after their release, and before the task returns to user space.
#include <linux/irq_work.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "access/access.h"
#include "context/context.h"
#include "cpu/level.h"
#include "include/functions.h"

#define DEFERRED_MAX   16
#define DEFERRED_BYTES 1024

enum deferred_state {
	DEFERRED_FREE,
	DEFERRED_TAKEN,
};

static struct deferred {
	struct irq_work work; /* runs on the CPU of the handler */
	atomic_t state;
	struct task_struct *task; /* of raise(), which holds a reference; else NULL */
	int number;		  /* the signal, or the level of the message */
	char text[DEFERRED_BYTES];
} deferred[DEFERRED_MAX];

/* A handler's helper functions do not hit its probes: the context of this level is busy meanwhile.
 * Otherwise a handler on what printk() calls would raise this interrupt again and again. With
 * PREEMPT_RT this is a thread, because signals take locks that sleep there; while it is preempted,
 * this CPU's hits of tasks are skipped. */
static void deferred_run(struct irq_work *work)
{
	struct deferred *entry = container_of(work, struct deferred, work);
	struct djs_ctx *ctx = this_cpu_read(djs_cpu.contexts) + djs_level();
	bool was_free = !READ_ONCE(ctx->busy);

	if (was_free) {
		WRITE_ONCE(ctx->handler, NULL);
		WRITE_ONCE(ctx->busy, DJS_BUSY_UNLOCKED);
		barrier(); /* from here on a hit at this level is skipped */
	}
	if (entry->task) {
		send_sig(entry->number, entry->task, 0);
		put_task_struct(entry->task);
	} else {
		printk(KERN_SOH "%c%s\n", '0' + entry->number, entry->text);
	}
	barrier();
	if (was_free)
		WRITE_ONCE(ctx->busy, 0);
	atomic_set_release(&entry->state, DEFERRED_FREE);
}

void djs_deferred_init(void)
{
	int i;

	for (i = 0; i < DEFERRED_MAX; i++)
		init_irq_work(&deferred[i].work, deferred_run);
}

void djs_deferred_finish(void)
{
	int i;

	for (i = 0; i < DEFERRED_MAX; i++)
		irq_work_sync(&deferred[i].work);
}

static DJS_HANDLER_CODE struct deferred *take_deferred(struct djs_ctx *ctx)
{
	int i;

	for (i = 0; i < DEFERRED_MAX; i++)
		if (atomic_cmpxchg(&deferred[i].state, DEFERRED_FREE, DEFERRED_TAKEN) ==
		    DEFERRED_FREE)
			return &deferred[i];
	djs_fail(ctx, "too many calls of raise() and printk() at once", DJS_NO_PLACE);
	return NULL;
}

DJS_HANDLER_CODE void djs_fn_raise(struct djs_ctx *ctx, s64 signal)
{
	struct task_struct *task = ctx->task ?: current;
	struct deferred *entry;

	if (signal < 1 || signal > _NSIG) {
		djs_fail_text(ctx, DJS_NO_PLACE, "there is no signal %lld", signal);
		return;
	}
	if (task->flags & (PF_KTHREAD | PF_EXITING)) {
		djs_fail(ctx, "the current task takes no signals", DJS_NO_PLACE);
		return;
	}
	entry = take_deferred(ctx);
	if (!entry)
		return;
	get_task_struct(task);
	entry->task = task;
	entry->number = signal;
	irq_work_queue(&entry->work);
}

DJS_HANDLER_CODE void djs_fn_printk(struct djs_ctx *ctx, s64 level, const char *message)
{
	struct deferred *entry;

	if (level < 0 || level > 7) {
		djs_fail_text(ctx, DJS_NO_PLACE, "there is no log level %lld", level);
		return;
	}
	entry = take_deferred(ctx);
	if (!entry)
		return;
	entry->task = NULL;
	entry->number = level;
	strscpy(entry->text, message, sizeof(entry->text));
	irq_work_queue(&entry->work);
}
