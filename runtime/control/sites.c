// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of a script at run time: where they lie in this kernel, which mechanism each has, and
// arming all of them.
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "control/runtime.h"

struct djs_site_run *djs_sites;
unsigned long djs_slide;

/* For djs_find_site: sorted by handler, then by address. */
struct lookup {
	unsigned long address;
	const struct djs_site *site;
};
static struct lookup *lookups;
static u32 *lookup_starts; /* [handler_count + 1] */

static u32 failed_count;
static int forced_error; /* of a site that may have no other mechanism */

static int compare_lookups(const void *a, const void *b)
{
	const struct lookup *left = a, *right = b;

	if (left->site->handler != right->site->handler)
		return left->site->handler < right->site->handler ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static bool is_direct(const struct djs_site *site)
{
	return site->mechanism == DJS_MECHANISM_DJPROBE ||
	       site->mechanism == DJS_MECHANISM_RETURN_DJPROBE;
}

/* Sites of one direct call are chained forward. */
static bool next_is_valid(const struct djs_site *site)
{
	const struct djs_site *next;

	if (site->next == DJS_NO_INDEX)
		return true;
	if (site->next >= djs_script.site_count || site->next <= site - djs_script.sites)
		return false;
	next = &djs_script.sites[site->next];
	return is_direct(next) && next->target == site->target && next->address == site->address;
}

static bool site_is_valid(const struct djs_site *site)
{
	const struct djs_handler *handler;

	if (site->handler >= djs_script.handler_count)
		return false;
	handler = &djs_script.handlers[site->handler];
	if (is_direct(site))
		return site->target < djs_script.target_count &&
		       djs_script.targets[site->target].direct && next_is_valid(site) &&
		       (handler->body || !site->fallback);
	if (site->mechanism == DJS_MECHANISM_TRACEPOINT)
		return handler->tracepoint && site->function;
	return handler->body;
}

int djs_sites_init(void)
{
	u32 i, count = djs_script.site_count;

	djs_slide = (unsigned long)_printk - djs_script.anchor;
	for (i = 0; i < djs_script.handler_count; i++)
		if (djs_script.handlers[i].lock_count &&
		    !(djs_script.handlers[i].flags & DJS_HANDLER_IRQS_OFF)) {
			djs_error("the script is broken: handler %u has locks and does not say so",
				  i);
			return -ENOEXEC;
		}
	for (i = 0; i < count; i++)
		if (!site_is_valid(&djs_script.sites[i])) {
			djs_error("the script is broken: nothing handles its site %u", i);
			return -ENOEXEC;
		}
	djs_sites = kvcalloc(max(count, 1u), sizeof(*djs_sites), GFP_KERNEL);
	lookups = kvcalloc(max(count, 1u), sizeof(*lookups), GFP_KERNEL);
	lookup_starts = kvcalloc(djs_script.handler_count + 1, sizeof(*lookup_starts), GFP_KERNEL);
	if (!djs_sites || !lookups || !lookup_starts) {
		djs_sites_exit();
		return -ENOMEM;
	}
	for (i = 0; i < count; i++) {
		const struct djs_site *site = &djs_script.sites[i];

		djs_sites[i].site = site;
		djs_sites[i].address = site->address + djs_slide;
		djs_sites[i].probe = djs_sites[i].address;
		djs_sites[i].mechanism = site->mechanism;
		if (is_direct(site) && site->next != DJS_NO_INDEX) {
			djs_sites[i].next = &djs_sites[site->next];
			djs_sites[site->next].follows = 1;
		}
		lookups[i].site = site;
		lookups[i].address = djs_sites[i].address;
		lookup_starts[site->handler + 1]++;
	}
	for (i = 0; i < djs_script.handler_count; i++)
		lookup_starts[i + 1] += lookup_starts[i];
	sort(lookups, count, sizeof(*lookups), compare_lookups, NULL);
	return 0;
}

void djs_sites_exit(void)
{
	djs_tracepoints_free();
	djs_kretprobes_free();
	djs_kprobes_free();
	kvfree(lookup_starts);
	kvfree(lookups);
	kvfree(djs_sites);
	lookup_starts = NULL;
	lookups = NULL;
	djs_sites = NULL;
}

DJS_HANDLER_CODE const struct djs_site *djs_find_site(const struct djs_handler *handler,
						      u64 return_address)
{
	unsigned long address = return_address - 5; /* a near call's length */
	u32 number = handler - djs_script.handlers;
	u32 low = lookup_starts[number], high = lookup_starts[number + 1];

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (lookups[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return lookups[low].site;
}

void djs_site_failed(struct djs_site_run *run, int error, const char *why)
{
	run->error = error;
	failed_count++;
	if (run->site->forced)
		forced_error = error;
	djs_session_message(DJS_RECORD_WARNING, "cannot attach %s: %s (error %d)",
			    run->site->point ?: "a probe", why, error);
}

u32 djs_sites_failed_count(void)
{
	return failed_count;
}

u64 djs_site_missed(const struct djs_site_run *run)
{
	if (!run->data)
		return 0;
	if (run->mechanism == DJS_MECHANISM_KRETPROBE)
		return djs_kretprobe_missed(run);
	if (run->mechanism >= DJS_MECHANISM_KPROBE && run->mechanism <= DJS_MECHANISM_KPROBE_FTRACE)
		return djs_kprobe_missed(run);
	return 0;
}

/* Whether attaching it as planned changes what ftrace knows. */
static bool uses_ftrace(const struct djs_site_run *run)
{
	switch (run->mechanism) {
	case DJS_MECHANISM_DJPROBE:
	case DJS_MECHANISM_RETURN_DJPROBE:
	case DJS_MECHANISM_FTRACE:
	case DJS_MECHANISM_KPROBE_FTRACE:
		return true;
	case DJS_MECHANISM_KPROBE:
	case DJS_MECHANISM_KPROBE_INT3:
	case DJS_MECHANISM_KPROBE_JUMP:
	case DJS_MECHANISM_KRETPROBE:
		return djs_at_fentry_site(run);
	}
	return false;
}

/* kernel.ftrace_enabled is 0: only what can do without ftrace is attached. */
static void do_without_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (!uses_ftrace(run))
			continue;
		if (run->mechanism == DJS_MECHANISM_DJPROBE && !run->site->forced &&
		    run->site->fallback) {
			run->mechanism = DJS_MECHANISM_KPROBE;
			run->fallback = DJS_FALLBACK_FTRACE_OFF;
			run->probe = run->site->fallback + djs_slide;
		} else {
			djs_site_failed(run, -EPERM, "kernel.ftrace_enabled is 0");
		}
	}
}

/* Before kprobes and kretprobes are attached: has those at fentry sites go on being hit. Direct
 * calls and ftrace_ops of our own see to that for all, as long as no condition takes them out. */
static void keep_ftrace(void)
{
	bool needed = false;
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		if (djs_sites[i].armed && !djs_script.condition_count)
			return;
		needed |= !djs_sites[i].error && uses_ftrace(&djs_sites[i]);
	}
	if (needed && djs_ftrace_keep() == -EBUSY)
		do_without_ftrace();
}

static void refuse_unknown(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism > DJS_MECHANISM_NETFILTER)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this runtime does not have its mechanism");
}

static int attach_wanted(void)
{
	int error = djs_djprobes_attach();

	if (!error)
		error = djs_ftraces_attach();
	if (!error) {
		keep_ftrace();
		error = djs_kprobes_attach();
	}
	djs_livepatch_watch();
	if (!error)
		error = djs_kretprobes_attach();
	if (!error)
		error = djs_tracepoints_attach();
	if (!error)
		error = djs_netfilter_attach();
	return error;
}

/* After those, so that what they need stands. */
static int attach_last(void)
{
	int error = djs_timers_attach();

	if (!error)
		error = djs_perf_attach();
	if (!error)
		error = djs_procfs_attach();
	return error;
}

static void note_armed(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		djs_sites[i].was_armed |= djs_sites[i].armed;
}

int djs_sites_arm(void)
{
	u32 i, planned = 0, ftrace = 0;
	int error;

	refuse_unknown();
	djs_conditions_evaluate();
	for (i = 0; i < djs_script.site_count; i++) {
		planned += djs_sites[i].mechanism != DJS_MECHANISM_NONE;
		ftrace += uses_ftrace(&djs_sites[i]);
	}
	if (ftrace) {
		int enabled = djs_ftrace_enabled();

		if (enabled < 0)
			djs_session_message(
			    DJS_RECORD_WARNING,
			    "cannot read kernel.ftrace_enabled (error %d): is /proc mounted?",
			    enabled);
		if (enabled <= 0)
			do_without_ftrace();
	}
	error = attach_wanted();
	if (!error)
		error = forced_error;
	if (!error && planned && failed_count == planned)
		error = djs_sites[0].error ?: -ENODEV;
	if (!error)
		error = attach_last();
	note_armed();
	if (error)
		djs_sites_disarm();
	return error;
}

/* While kernel.ftrace_enabled is 0 what needs ftrace stays as it is: its handlers look at the
 * condition, too. */
static void leave_to_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (uses_ftrace(&djs_sites[i]))
			djs_sites[i].wanted = djs_sites[i].armed;
}

void djs_sites_rearm(void)
{
	int error;

	djs_conditions_evaluate();
	if (djs_ftrace_enabled() <= 0)
		leave_to_ftrace();
	djs_timers_detach();
	djs_perf_detach();
	djs_netfilter_detach();
	djs_tracepoints_detach();
	djs_kretprobes_disable();
	djs_kprobes_disable();
	djs_ftraces_detach();
	djs_djprobes_detach();
	error = attach_wanted();
	if (!error)
		error = attach_last();
	if (error)
		djs_session_message(DJS_RECORD_WARNING, "not all probes could be armed (error %d)",
				    error);
	note_armed();
}

void djs_drain_handlers(void)
{
	/* Handlers are entered from text and from trampolines that no reference count guards: wait
	 * until every task has been seen elsewhere.
	 */
#ifdef DJS_HAVE_RCU_TASKS_RUDE
	synchronize_rcu_tasks_rude();
#endif
#ifdef DJS_HAVE_RCU_TASKS
	synchronize_rcu_tasks();
#endif
	synchronize_rcu();
}

void djs_sites_disarm(void)
{
	bool ftrace = false, armed = false, switched_on = false, returns = false;
	u32 i;

	note_armed();
	for (i = 0; i < djs_script.site_count; i++) {
		armed |= djs_sites[i].was_armed;
		ftrace |= djs_sites[i].armed && uses_ftrace(&djs_sites[i]);
		returns |= djs_sites[i].was_armed &&
			   djs_sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE;
		djs_sites[i].wanted = 0;
	}
	if (!armed) {
		djs_livepatch_ignore();
		djs_ftrace_let_go();
		return;
	}
	djs_procfs_detach();
	djs_timers_detach();
	djs_perf_detach();
	djs_netfilter_detach();
	if (ftrace && djs_ftrace_enabled() == 0) {
		djs_warning("kernel.ftrace_enabled was set to 0 meanwhile; it is set to 1 for the "
			    "time of detaching");
		switched_on = djs_ftrace_enable(true) == 0;
	}
	djs_tracepoints_detach();
	djs_kretprobes_detach();
	djs_kprobes_detach();
	djs_ftraces_detach();
	djs_djprobes_detach();
	djs_livepatch_ignore();
	djs_ftrace_let_go();
	for (i = 0; i < djs_script.site_count; i++)
		djs_sites[i].armed = 0;
	djs_drain_handlers(); /* who entered a function with a return djprobe is counted now */
	if (switched_on)
		djs_ftrace_enable(false);
	if (returns)
		djs_inside_drain();
}
