// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of a script at run time: where they lie in this kernel, which mechanism each has, and
// arming all of them.
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "control/runtime.h"

struct djs_site_run *djs_sites;
unsigned long djs_slide;

/* Attaching, detaching and the state of sites. Inside session_life, and inside the kernel's lock
 * for the notifiers of modules. */
static DEFINE_MUTEX(sites_mutex);
static bool open_to_modules; /* the sites of modules that come now are armed */

static u32 failed_count;
static int forced_error; /* of a site that may have no other mechanism */

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
	return is_direct(next) && next->target == site->target && next->address == site->address &&
	       next->anchor == site->anchor;
}

static bool site_is_valid(const struct djs_site *site)
{
	const struct djs_handler *handler;

	if (site->handler >= djs_script.handler_count ||
	    (site->anchor != DJS_NO_INDEX && site->anchor >= djs_script.anchor_count))
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

/* Where it lies and what is planned for it, once that can be told. */
static void place_site(struct djs_site_run *run)
{
	run->address = run->site->address + djs_site_slide(run->site);
	run->probe = run->address;
	run->mechanism = run->site->mechanism;
	run->fallback = DJS_FALLBACK_NONE;
}

int djs_sites_init(void)
{
	u32 i, count = djs_script.site_count;
	int error;

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
	if (!djs_sites)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct djs_site *site = &djs_script.sites[i];

		djs_sites[i].site = site;
		djs_sites[i].domain = djs_site_domain(site);
		djs_sites[i].absent = djs_sites[i].domain != 0;
		djs_sites[i].mechanism = site->mechanism;
		if (is_direct(site) && site->next != DJS_NO_INDEX) {
			djs_sites[i].next = &djs_sites[site->next];
			djs_sites[site->next].follows = 1;
		}
		if (!djs_sites[i].absent)
			place_site(&djs_sites[i]);
	}
	error = djs_lookup_update();
	if (!error)
		error = djs_modules_init();
	if (!error)
		error = djs_livepatch_init();
	if (error)
		djs_sites_exit();
	return error;
}

void djs_sites_exit(void)
{
	djs_livepatch_exit();
	djs_modules_exit();
	djs_tracepoints_free();
	djs_kretprobes_free();
	djs_kprobes_free();
	djs_lookup_exit();
	kvfree(djs_sites);
	djs_sites = NULL;
}

void djs_sites_lock(void)
{
	mutex_lock(&sites_mutex);
}

void djs_sites_unlock(void)
{
	mutex_unlock(&sites_mutex);
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
		return run->missed;
	if (run->mechanism == DJS_MECHANISM_KRETPROBE)
		return run->missed + djs_kretprobe_missed(run);
	if (run->mechanism >= DJS_MECHANISM_KPROBE && run->mechanism <= DJS_MECHANISM_KPROBE_FTRACE)
		return run->missed + djs_kprobe_missed(run);
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

		if (run->absent || !uses_ftrace(run))
			continue;
		if (run->mechanism == DJS_MECHANISM_DJPROBE && !run->site->forced &&
		    run->site->fallback) {
			run->mechanism = DJS_MECHANISM_KPROBE;
			run->fallback = DJS_FALLBACK_FTRACE_OFF;
			run->probe = run->site->fallback + djs_site_slide(run->site);
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
		needed |= !djs_sites[i].error && !djs_sites[i].absent && uses_ftrace(&djs_sites[i]);
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

/* ---- modules that come and go ---------------------------------------------------------------- */

static u32 sites_of(u32 domain, bool armed_only)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].domain == domain && (djs_sites[i].armed || !armed_only);
	return count;
}

/* The sites of a module that is there now: as if they had never been tried. */
static int place_domain(u32 domain, struct module *module)
{
	int error = djs_module_place(domain, module);
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->domain != domain)
			continue;
		failed_count += (error != 0) - (run->error != 0);
		run->error = error;
		run->absent = error != 0;
		if (!error)
			place_site(run);
	}
	if (!error)
		return djs_lookup_update();
	djs_session_message(DJS_RECORD_WARNING,
			    "the module '%s' that is loaded is not the one that this was made for: "
			    "%u of its functions are not probed",
			    djs_domain_name(domain), sites_of(domain, false));
	return 0;
}

static int find_modules(void)
{
	u32 domain;
	int error = 0;

	for (domain = 1; domain <= djs_script.anchor_count && !error; domain++) {
		u32 sites = sites_of(domain, false);
		struct module *module = sites ? djs_module_get(domain) : NULL;

		if (module) {
			error = place_domain(domain, module);
			module_put(module); /* its going is told before its text is gone */
		} else if (sites) {
			djs_session_message(DJS_RECORD_WARNING,
					    "the module '%s' is not loaded: %u of its functions "
					    "will be probed when it is",
					    djs_domain_name(domain), sites);
		}
	}
	return error;
}

static int arm_locked(void)
{
	u32 i, planned = 0, ftrace = 0;
	int error;

	refuse_unknown();
	error = find_modules();
	if (error)
		return error;
	open_to_modules = true;
	djs_conditions_evaluate();
	for (i = 0; i < djs_script.site_count; i++) {
		planned += djs_sites[i].mechanism != DJS_MECHANISM_NONE;
		ftrace += !djs_sites[i].absent && uses_ftrace(&djs_sites[i]);
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
	return error;
}

int djs_sites_arm(void)
{
	int error;

	mutex_lock(&sites_mutex);
	error = arm_locked();
	mutex_unlock(&sites_mutex);
	if (error)
		djs_sites_disarm();
	else
		djs_overload_start();
	return error;
}

/* While kernel.ftrace_enabled is 0 what needs ftrace stays as it is: its handlers look at the
 * condition, too. */
static void leave_to_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (!djs_sites[i].absent && uses_ftrace(&djs_sites[i]))
			djs_sites[i].wanted = djs_sites[i].armed;
}

static void detach_unwanted(void)
{
	djs_timers_detach();
	djs_perf_detach();
	djs_netfilter_detach();
	djs_tracepoints_detach();
	djs_kretprobes_disable();
	djs_kprobes_disable();
	djs_ftraces_detach();
	djs_djprobes_detach();
}

static void rearm_locked(void)
{
	int error;

	djs_conditions_evaluate();
	if (djs_ftrace_enabled() <= 0)
		leave_to_ftrace();
	detach_unwanted();
	error = attach_wanted();
	if (!error)
		error = attach_last();
	if (error)
		djs_session_message(DJS_RECORD_WARNING, "not all probes could be armed (error %d)",
				    error);
	note_armed();
}

void djs_sites_rearm(void)
{
	mutex_lock(&sites_mutex);
	rearm_locked();
	mutex_unlock(&sites_mutex);
}

void djs_sites_module_came(u32 domain, struct module *module)
{
	u32 i, absent = 0;
	int error;

	mutex_lock(&sites_mutex);
	for (i = 0; i < djs_script.site_count; i++)
		absent +=
		    djs_sites[i].domain == domain && djs_sites[i].absent && !djs_sites[i].error;
	if (open_to_modules && absent) {
		error = place_domain(domain, module);
		if (error)
			djs_session_message(
			    DJS_RECORD_WARNING,
			    "the module '%s' was loaded and cannot be probed (error %d)",
			    djs_domain_name(domain), error);
		else
			rearm_locked();
	}
	mutex_unlock(&sites_mutex);
}

/* Before its text goes. */
void djs_sites_module_went(u32 domain)
{
	u32 i, armed;

	mutex_lock(&sites_mutex);
	armed = sites_of(domain, true);
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->domain != domain)
			continue;
		failed_count -= run->error != 0;
		run->error = 0;
		run->absent = 1;
		run->wanted = 0;
	}
	if (armed) {
		djs_kretprobes_forget(domain);
		djs_kprobes_forget(domain);
		djs_ftraces_detach();
		djs_djprobes_detach();
	}
	if (armed && open_to_modules)
		djs_session_message(
		    DJS_RECORD_WARNING,
		    "the module '%s' was unloaded: %u of its functions are no longer probed",
		    djs_domain_name(domain), armed);
	mutex_unlock(&sites_mutex);
}

/* ---- probes that take too much time ---------------------------------------------------------- */

static bool belongs_to(const struct djs_site_run *run, u32 owner)
{
	if (owner < djs_script.handler_count)
		return run->site->handler == owner;
	return djs_is_direct(run) && run->site->target == owner - djs_script.handler_count;
}

/* With it go those that share its ops. */
static u32 disarm_owner(u32 owner)
{
	u32 i, k, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].armed && belongs_to(&djs_sites[i], owner))
			djs_sites[i].disarmed = 1;
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		for (k = 0; k < djs_script.site_count && djs_is_direct(run) && !run->disarmed; k++)
			run->disarmed =
			    djs_sites[k].disarmed && run->data && djs_sites[k].data == run->data;
		count += run->armed && run->disarmed;
	}
	return count;
}

void djs_sites_overload(u32 owner, u32 percent)
{
	const struct djs_site *first = NULL;
	u32 i, count, sites = 0;

	mutex_lock(&sites_mutex);
	for (i = 0; i < djs_script.site_count; i++) {
		if (djs_sites[i].armed && belongs_to(&djs_sites[i], owner) && !first)
			first = djs_sites[i].site;
		sites += djs_sites[i].mechanism != DJS_MECHANISM_NONE;
	}
	count = first && open_to_modules ? disarm_owner(owner) : 0;
	if (count) {
		rearm_locked();
		djs_session_message(DJS_RECORD_WARNING,
				    "%s had a CPU for %u %% of the time: %u of %u sites are "
				    "disarmed; -D STP_NO_OVERLOAD leaves them on",
				    first->name ?: first->point ?: "a probe", percent, count,
				    sites);
	}
	mutex_unlock(&sites_mutex);
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

static void disarm_locked(void)
{
	bool ftrace = false, armed = false, switched_on = false, returns = false;
	u32 i;

	open_to_modules = false;
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

void djs_sites_disarm(void)
{
	djs_overload_stop();
	mutex_lock(&sites_mutex);
	disarm_locked();
	mutex_unlock(&sites_mutex);
}
