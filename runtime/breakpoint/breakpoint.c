// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.data: accesses to some bytes of memory, by a breakpoint of the processor on each CPU that
// is online when the session begins. The handler runs after the access, in the debug exception,
// which interrupts what NMIs do, too.
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "context/context.h"
#include "sites/mechanism.h"

static DJS_HANDLER_CODE void breakpoint_hit(struct perf_event *event, struct perf_sample_data *data,
					    struct pt_regs *regs)
{
	const struct djs_site_run *run = event->overflow_handler_context;
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	if (handler->by_regs)
		handler->by_regs(NULL, regs);
	else
		djs_run_handler(handler, run->site, regs);
}

static void detach_breakpoint(struct djs_site_run *run)
{
	unregister_wide_hw_breakpoint((struct perf_event * __percpu *)(unsigned long)run->data);
	run->armed = 0;
	run->data = NULL;
}

static const char *breakpoint_failure(int error)
{
	switch (error) {
	case -ENOSPC:
	case -EBUSY:
		return "all breakpoints of the processor are in use";
	case -ENOMEM:
		return "there is no memory for a breakpoint on each CPU";
	default:
		return "the processor or the kernel does not accept a breakpoint there";
	}
}

static void attach_breakpoint(struct djs_site_run *run)
{
	const u64 *arguments = djs_script.handlers[run->site->handler].arguments;
	struct perf_event *__percpu *events;
	struct perf_event_attr attr;
	u64 how = arguments[DJS_BREAKPOINT_HOW];

	hw_breakpoint_init(&attr);
	attr.bp_addr = arguments[DJS_BREAKPOINT_ADDRESS];
	if (how & DJS_BREAKPOINT_AS_LINKED)
		attr.bp_addr += djs_biases[0];
	attr.bp_len = arguments[DJS_BREAKPOINT_BYTES];
	attr.bp_type = how & DJS_BREAKPOINT_READS ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	run->armed = 1; /* it may be hit at once */
	events = register_wide_hw_breakpoint(&attr, breakpoint_hit, run);
	if (IS_ERR_VALUE((__force unsigned long)events)) {
		int error = (__force long)events;

		run->armed = 0;
		djs_site_failed(run, error, breakpoint_failure(error));
		return;
	}
	run->data = (void *)(__force unsigned long)events;
}

static int breakpoint_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism == DJS_MECHANISM_BREAKPOINT && run->wanted && !run->armed &&
		    !run->error)
			attach_breakpoint(run);
	}
	return 0;
}

static void breakpoint_disarm(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_BREAKPOINT && djs_sites[i].armed &&
		    !djs_sites[i].wanted)
			detach_breakpoint(&djs_sites[i]);
}

const struct djs_mechanism_ops djs_ops_breakpoint = {
    .attach = breakpoint_attach,
    .disarm = breakpoint_disarm,
    .last = true,
};
