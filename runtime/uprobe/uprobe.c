// SPDX-License-Identifier: GPL-2.0-or-later
// Uprobes and uretprobes. The kernel calls a consumer in the task that was hit, with the registers
// of its user code, and waits for running handlers when a consumer is unregistered. A task that is
// still inside a function with a uretprobe keeps the kernel's own object alive, not this module.
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uprobes.h>

#include "arch/runtime.h"
#include "programs/handler.h"
#include "programs/programs.h"
#include "sites/mechanism.h"
#include "uprobe/uprobe.h"

#ifdef DJS_HAVE_UPROBE_DATA
#define UPROBE_DATA , __u64 *data
#else
#define UPROBE_DATA
#endif

struct djs_uprobe {
	struct uprobe_consumer consumer;
	struct djs_site_run *run;
	struct djs_program only; /* path NULL: hits in processes of all programs count */
	struct djs_calls *calls; /* its handler's; NULL: that needs no values from the entry */
	struct inode *inode;
	struct uprobe *uprobe; /* the kernel's object, where it is the handle */
	u64 offset;
	struct djs_uprobe *next; /* detached */
};

static __always_inline const struct djs_handler *uprobe_handler(const struct djs_uprobe *probe)
{
	return &djs_script.handlers[probe->run->site->handler];
}

static DJS_HANDLER_CODE bool concerns_process(const struct djs_uprobe *probe)
{
	return djs_concerns_process(uprobe_handler(probe)->arguments[DJS_UPROBE_PROCESS]) &&
	       (!probe->only.path || djs_program_of_still(&probe->only, current));
}

/* Handlers without a context expect what a kprobe provides. */
static __always_inline void run_by_regs(const struct djs_handler *handler, struct pt_regs *regs)
{
	preempt_disable_notrace();
	handler->by_regs(NULL, regs);
	preempt_enable_notrace();
}

static DJS_HANDLER_CODE int uprobe_hit(struct uprobe_consumer *consumer,
				       struct pt_regs *regs UPROBE_DATA)
{
	const struct djs_uprobe *probe = container_of(consumer, struct djs_uprobe, consumer);
	const struct djs_handler *handler = uprobe_handler(probe);

	if (!concerns_process(probe))
		return 0;
	if (handler->by_regs)
		run_by_regs(handler, regs);
	else
		djs_run_handler_at(handler, probe->run->site, regs, instruction_pointer(regs));
	return 0;
}

static DJS_HANDLER_CODE int uretprobe_entered(struct uprobe_consumer *consumer,
					      struct pt_regs *regs UPROBE_DATA)
{
	struct djs_uprobe *probe = container_of(consumer, struct djs_uprobe, consumer);
	const struct djs_handler *handler = uprobe_handler(probe);
	struct djs_ctx *ctx;
	bool valid = false;
	u64 *values;

	if (!concerns_process(probe))
		return 0;
	values = djs_call_begin(probe->calls, probe->run, user_stack_pointer(regs));
	if (!values)
		return 0;
	ctx = djs_enter_program(handler, probe->run->site, regs, instruction_pointer(regs), values);
	if (ctx) {
		handler->entry(ctx);
		valid = !ctx->error;
		djs_leave_program(ctx);
	}
	djs_call_begun(values, valid);
	return 0;
}

static DJS_HANDLER_CODE int uretprobe_returned(struct uprobe_consumer *consumer,
					       unsigned long function,
					       struct pt_regs *regs UPROBE_DATA)
{
	struct djs_uprobe *probe = container_of(consumer, struct djs_uprobe, consumer);
	const struct djs_handler *handler = uprobe_handler(probe);
	u64 *values = NULL;
	struct djs_ctx *ctx;

	if (!concerns_process(probe))
		return 0;
	if (probe->calls) {
		values = djs_call_find(probe->calls, probe->run, djs_returned_from(regs));
		if (!values)
			return 0;
	} else if (handler->by_regs) {
		run_by_regs(handler, regs);
		return 0;
	}
	ctx = djs_enter_program(uprobe_handler(probe), probe->run->site, regs, function, values);
	if (ctx) {
		ctx->returned = 1;
		ctx->return_value = regs_return_value(regs);
		handler->body(ctx);
		regs_set_return_value(regs, ctx->return_value); /* it may have been changed */
		djs_leave_program(ctx);
	}
	if (values)
		djs_call_over(values);
	return 0;
}

/* ---- the kernel's interface -------------------------------------------------------------------
 */

#if defined(DJS_HAVE_UPROBE_OBJECT)

static int register_consumer(struct djs_uprobe *probe, u64 semaphore)
{
	probe->uprobe = uprobe_register(probe->inode, probe->offset, semaphore, &probe->consumer);
	return PTR_ERR_OR_ZERO(probe->uprobe);
}

static void unregister_consumer(struct djs_uprobe *probe)
{
	uprobe_unregister_nosync(probe->uprobe, &probe->consumer);
}

static void wait_for_handlers(void)
{
	uprobe_unregister_sync();
}

#elif defined(DJS_HAVE_UPROBE_REFCTR)

static int register_consumer(struct djs_uprobe *probe, u64 semaphore)
{
	return uprobe_register_refctr(probe->inode, probe->offset, semaphore, &probe->consumer);
}

/* Waits for the handlers of the probe. */
static void unregister_consumer(struct djs_uprobe *probe)
{
	uprobe_unregister(probe->inode, probe->offset, &probe->consumer);
}

static void wait_for_handlers(void)
{
}

#else

static int register_consumer(struct djs_uprobe *probe, u64 semaphore)
{
	return -EOPNOTSUPP;
}

static void unregister_consumer(struct djs_uprobe *probe)
{
}

static void wait_for_handlers(void)
{
}

#endif

/* ---- attaching and detaching ------------------------------------------------------------------
 */

static bool is_uprobe(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_IN_PROGRAM);
}

/* What is kept for the calls of all sites of a handler, by handler. A call that does not find room
 * is missed. */
static struct djs_calls **calls_of_handlers;
#define CALLS_KEPT	  1024
#define CALLS_KEPT_A_SITE 16
#define CALLS_KEPT_MOST	  65536

static u32 calls_to_keep(const struct djs_site *site)
{
	u32 i, sites = 0;

	for (i = 0; i < djs_script.site_count; i++)
		sites += djs_script.sites[i].handler == site->handler;
	if (sites == 1)
		return site->maxactive ?: CALLS_KEPT;
	return clamp_t(u64, (u64)sites * (site->maxactive ?: CALLS_KEPT_A_SITE), CALLS_KEPT,
		       CALLS_KEPT_MOST);
}

/* NULL: there is no memory. */
static struct djs_calls *calls_for(const struct djs_site *site)
{
	struct djs_calls **calls;

	if (!calls_of_handlers)
		calls_of_handlers =
		    kvcalloc(djs_script.handler_count, sizeof(*calls_of_handlers), GFP_KERNEL);
	if (!calls_of_handlers)
		return NULL;
	calls = &calls_of_handlers[site->handler];
	if (!*calls)
		*calls =
		    djs_calls_make(calls_to_keep(site), djs_script.handlers[site->handler].saved);
	return *calls;
}

static void free_calls(void)
{
	u32 i;

	for (i = 0; calls_of_handlers && i < djs_script.handler_count; i++)
		djs_calls_free(calls_of_handlers[i]);
	kvfree(calls_of_handlers);
	calls_of_handlers = NULL;
}

static int prepare_uprobe(struct djs_uprobe *probe)
{
	const struct djs_handler *handler = uprobe_handler(probe);

	if (probe->run->mechanism == DJS_MECHANISM_UPROBE) {
		probe->consumer.handler = uprobe_hit;
		return 0;
	}
	probe->consumer.ret_handler = uretprobe_returned;
	if (!handler->entry)
		return 0;
	probe->consumer.handler = uretprobe_entered;
	probe->calls = calls_for(probe->run->site);
	return probe->calls ? 0 : -ENOMEM;
}

/* The programs in whose processes hits count. */
static struct only_program {
	struct djs_program program;
	int error;
} *programs_of_handlers;

/* Finds the files of all sites when the first are attached, in the task that starts the session:
 * what conditions and modules attach later is attached by tasks with other root directories. */
static int find_programs(void)
{
	const char *why;
	u32 i;

	if (programs_of_handlers)
		return 0;
	programs_of_handlers =
	    kvcalloc(djs_script.handler_count, sizeof(*programs_of_handlers), GFP_KERNEL);
	if (!programs_of_handlers)
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count; i++) {
		const struct djs_site_run *run = &djs_sites[i];
		struct only_program *only = &programs_of_handlers[run->site->handler];
		const char *path;

		if (!is_uprobe(run))
			continue;
		djs_program_file(run, &why);
		path = djs_script.handlers[run->site->handler].program;
		if (!path || only->program.path)
			continue;
		only->program.path = path;
		only->error = djs_program_find(&only->program);
	}
	return 0;
}

static const char *uprobe_failure(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "the kernel cannot probe this instruction, or has no uprobes";
	case -ENOMEM:
		return "there is no memory";
	case -EIO:
		return "the kernel cannot probe files of this file system";
	default:
		return "the kernel rejects a uprobe there";
	}
}

/* Fails the site if its file or its program is not there, or another one. */
static void check_uprobe(struct djs_site_run *run)
{
	const struct only_program *only = &programs_of_handlers[run->site->handler];
	const char *why;
	struct inode *inode = djs_program_file(run, &why);
	int error;

	if (IS_ERR(inode)) {
		djs_site_failed(run, PTR_ERR(inode), why);
		return;
	}
	if (only->error) {
		djs_site_failed(run, only->error, "the program of the process cannot be found");
		return;
	}
	error = djs_program_check_code(run);
	if (error)
		djs_site_failed(run, error,
				error == -ENOEXEC ? "the file has other code there: it is not the "
						    "one for which the script was compiled"
						  : "the file cannot be read");
}

/* It has been checked. */
static int attach_uprobe(struct djs_site_run *run)
{
	const struct only_program *only = &programs_of_handlers[run->site->handler];
	const char *why;
	struct djs_uprobe *probe;
	int error;

	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		return -ENOMEM;
	probe->run = run;
	probe->inode = djs_program_file(run, &why);
	probe->offset = djs_offset_in_file(run->site);
	probe->only = only->program;
	error = prepare_uprobe(probe);
	run->data = probe;
	run->armed = 1; /* it may be hit at once */
	if (!error)
		error = register_consumer(probe,
					  uprobe_handler(probe)->arguments[DJS_UPROBE_SEMAPHORE]);
	if (error) {
		run->armed = 0;
		run->data = NULL;
		kfree(probe);
		djs_site_failed(run, error, uprobe_failure(error));
	}
	return 0;
}

static struct djs_uprobe *detached_uprobes;

static void free_detached_uprobes(void)
{
	if (!detached_uprobes)
		return;
	wait_for_handlers();
	while (detached_uprobes) {
		struct djs_uprobe *probe = detached_uprobes;

		detached_uprobes = probe->next;
		if (probe->calls) /* their returns may not be seen */
			djs_calls_forget(probe->calls);
		kfree(probe);
	}
}

static void detach_uprobe(struct djs_site_run *run)
{
	struct djs_uprobe *probe = run->data;

	unregister_consumer(probe);
	run->armed = 0;
	run->data = NULL;
	probe->next = detached_uprobes;
	detached_uprobes = probe;
}

static bool is_to_attach(const struct djs_site_run *run)
{
	return is_uprobe(run) && run->wanted && !run->armed && !run->error;
}

static int uprobe_attach(void)
{
	int error = find_programs();
	u32 i;

	if (error)
		return error;
	for (i = 0; i < djs_script.site_count; i++)
		if (is_to_attach(&djs_sites[i]))
			check_uprobe(&djs_sites[i]);
	/* The kernel calls the consumer of a place that was registered last first. */
	for (i = djs_script.site_count; i-- > 0;)
		if (is_to_attach(&djs_sites[i]) && attach_uprobe(&djs_sites[i]))
			return -ENOMEM;
	return 0;
}

static void uprobe_disarm(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (is_uprobe(&djs_sites[i]) && djs_sites[i].armed && !djs_sites[i].wanted)
			detach_uprobe(&djs_sites[i]);
	free_detached_uprobes();
}

static void uprobe_free(void)
{
	free_calls();
	kvfree(programs_of_handlers);
	programs_of_handlers = NULL;
	djs_programs_release();
}

const struct djs_mechanism_ops djs_ops_uprobe = {
    .attach = uprobe_attach,
    .disarm = uprobe_disarm,
    .free = uprobe_free,
    .last = true,
    .drains = true,
};
