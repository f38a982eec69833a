// SPDX-License-Identifier: GPL-2.0-or-later
// perf.*, timer.profile: a perf event on each CPU that is online when the session begins. Its
// overflow calls the handler with the registers of the interrupted code. perf.….counter: the same
// without a handler; @perf reads its count. perf.….process is attached by follow.c.
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "context/context.h"
#include "perf/perf.h"
#include "sites/mechanism.h"

struct djs_perf {
	struct djs_site_run *run;
	struct djs_perf *next;	     /* detached */
	struct perf_event *events[]; /* [nr_cpu_ids] */
};

static struct djs_perf *counters[DJS_MOST_PERF_COUNTERS];

DJS_HANDLER_CODE void djs_perf_hit(const struct djs_site_run *run, struct pt_regs *regs)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	if (handler->by_regs)
		handler->by_regs(NULL, regs);
	else
		djs_run_handler(handler, run->site, regs);
}

static DJS_HANDLER_CODE void perf_overflowed(struct perf_event *event,
					     struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct djs_perf *perf = event->overflow_handler_context;

	djs_perf_hit(perf->run, regs);
}

/*
 * perf_event_read_local() is not exported. This does the same, in the way that is allowed in an
 * NMI: the driver of a running event of this CPU updates it, which requires interrupts to be
 * disabled.
 */
DJS_HANDLER_CODE s64 djs_perf_count(struct perf_event *event)
{
	if (!event)
		return 0;
	if (READ_ONCE(event->oncpu) == raw_smp_processor_id())
		event->pmu->read(event);
	return local64_read(&event->count);
}

DJS_HANDLER_CODE s64 djs_perf_read(u32 number)
{
	const struct djs_perf *perf;
	unsigned long flags;
	s64 count;

	raw_local_irq_save(flags);
	perf = READ_ONCE(counters[number]);
	count =
	    perf ? djs_perf_count(perf->events[raw_smp_processor_id()]) : djs_follow_read(number);
	raw_local_irq_restore(flags);
	return count;
}

static struct djs_perf *detached;

/* An event may be released by an interrupt of its own handler. */
static void free_detached(void)
{
	if (!detached)
		return;
	synchronize_rcu(); /* handlers run with preemption disabled */
	while (detached) {
		struct djs_perf *perf = detached;

		detached = perf->next;
		kfree(perf);
	}
}

static void detach_perf(struct djs_site_run *run)
{
	struct djs_perf *perf = run->data;
	u32 counter = djs_perf_counter(run);
	unsigned int cpu;

	if (counter < DJS_MOST_PERF_COUNTERS && counters[counter] == perf) {
		WRITE_ONCE(counters[counter], NULL);
		synchronize_rcu(); /* handlers that read it run with preemption disabled */
	}
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (perf->events[cpu])
			perf_event_release_kernel(perf->events[cpu]);
	run->armed = 0;
	run->data = NULL;
	perf->next = detached;
	detached = perf;
}

static int attach_perf(struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];
	struct perf_event_attr attr = {
	    .size = sizeof(attr),
	    .type = handler->arguments[DJS_PERF_TYPE],
	    .config = handler->arguments[DJS_PERF_CONFIG],
	    .freq = handler->arguments[DJS_PERF_HOW] == DJS_PERF_BY_FREQUENCY,
	    .sample_period = handler->arguments[DJS_PERF_RATE], /* or the frequency: a union */
	};
	struct djs_perf *perf = kzalloc(struct_size(perf, events, nr_cpu_ids), GFP_KERNEL);
	u32 counter = djs_perf_counter(run);
	unsigned int cpu;
	int error = 0;

	if (!perf)
		return -ENOMEM;
	perf->run = run;
	run->data = perf;
	run->armed = 1;
	/* Without cpus_read_lock(), which creating the event takes: a CPU that is going waits for
	 * the outer one, and the inner one for that CPU. */
	for_each_online_cpu (cpu) {
		struct perf_event *event = perf_event_create_kernel_counter(
		    &attr, cpu, NULL, counter < DJS_MOST_PERF_COUNTERS ? NULL : perf_overflowed,
		    perf);

		if (PTR_ERR(event) == -ENODEV && !cpu_online(cpu))
			continue;
		if (IS_ERR(event)) {
			error = PTR_ERR(event);
			break;
		}
		perf->events[cpu] = event;
	}
	if (error) {
		detach_perf(run);
		free_detached();
		djs_site_failed(run, error, "this machine has no such perf event");
	} else if (counter < DJS_MOST_PERF_COUNTERS) {
		WRITE_ONCE(counters[counter], perf);
	}
	return 0;
}

static int perf_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism == DJS_MECHANISM_PERF && run->wanted && !run->armed &&
		    !run->error && !djs_is_followed(run) && attach_perf(run))
			return -ENOMEM;
	}
	return djs_follow_attach();
}

static void perf_disarm(void)
{
	u32 i;

	djs_follow_disarm();
	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_PERF && djs_sites[i].armed &&
		    !djs_sites[i].wanted)
			detach_perf(&djs_sites[i]);
	free_detached();
}

const struct djs_mechanism_ops djs_ops_perf = {
    .attach = perf_attach,
    .disarm = perf_disarm,
    .free = djs_follow_free,
    .last = true,
};
