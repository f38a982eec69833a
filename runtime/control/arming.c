// SPDX-License-Identifier: GPL-2.0-or-later
// Arming the sites: all at the session's start, a module's when it comes; and taking them out: all
// at the end, a module's before it goes, those that take too much time.
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "control/runtime.h"

/* Attaching and detaching; the state of sites. Inside session_life, and inside the kernel's lock
 * for the notifiers of modules. */
static DEFINE_MUTEX(sites_mutex);
static bool calls_were_counted; /* there were return djprobes */
static bool open_to_modules;	/* the sites of modules that come now are armed */

void djs_sites_lock(void)
{
	mutex_lock(&sites_mutex);
}

void djs_sites_unlock(void)
{
	mutex_unlock(&sites_mutex);
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
static void do_without_ftrace(u32 domain)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (!djs_is_wanted(run, domain) || !uses_ftrace(run))
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

static void refuse_unknown(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism > DJS_MECHANISM_TIMER)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this runtime does not have its mechanism");
}

static void heed_ftrace_switch(u32 domain)
{
	u32 i, ftrace = 0;
	int enabled;

	for (i = 0; i < djs_script.site_count; i++)
		ftrace += djs_is_wanted(&djs_sites[i], domain) && uses_ftrace(&djs_sites[i]);
	if (!ftrace)
		return;
	enabled = djs_ftrace_enabled();
	if (enabled < 0)
		djs_session_message(
		    DJS_RECORD_WARNING,
		    "cannot read kernel.ftrace_enabled (error %d): is /proc mounted?", enabled);
	if (enabled <= 0)
		do_without_ftrace(domain);
}

/* All that is at addresses. */
static int attach_domain(u32 domain)
{
	int error;

	heed_ftrace_switch(domain);
	error = djs_djprobes_attach(domain);
	if (!error)
		error = djs_ftraces_attach(domain);
	if (!error)
		error = djs_kprobes_attach(domain);
	if (!error)
		error = djs_kretprobes_attach(domain);
	return error;
}

static u32 armed_sites(void)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].armed;
	return count;
}

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
		djs_site_forgive(run);
		run->absent = error != 0;
		if (!error)
			djs_site_place(run);
	}
	if (!error)
		return djs_lookup_update();
	djs_session_message(DJS_RECORD_WARNING,
			    "the module '%s' that is loaded is not the one that this was made for: "
			    "%u of its functions are not probed",
			    djs_domain_name(domain), sites_of(domain, false));
	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].domain == domain) {
			djs_site_failed(&djs_sites[i], error, NULL);
		}
	return 0;
}

static int attach_modules(void)
{
	u32 domain;
	int error = 0;

	for (domain = 1; domain <= djs_script.anchor_count && !error; domain++) {
		u32 sites = sites_of(domain, false);
		struct module *module;

		if (!sites)
			continue;
		module = djs_module_get(domain);
		if (!module) {
			djs_session_message(DJS_RECORD_WARNING,
					    "the module '%s' is not loaded: %u of its functions "
					    "will be probed when it is",
					    djs_domain_name(domain), sites);
			continue;
		}
		error = place_domain(domain, module);
		if (!error)
			error = attach_domain(domain);
		module_put(module);
	}
	return error;
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
		if (!error)
			error = attach_domain(domain);
		if (error)
			djs_session_message(
			    DJS_RECORD_WARNING,
			    "the module '%s' was loaded and cannot be probed (error %d)",
			    djs_domain_name(domain), error);
	}
	mutex_unlock(&sites_mutex);
}

/* For detaching what is leaving; true: it is to be switched off afterwards. */
static bool switch_ftrace_on(void)
{
	bool ftrace = false;
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		ftrace |= djs_sites[i].leaving && uses_ftrace(&djs_sites[i]);
	if (!ftrace || djs_ftrace_enabled() != 0)
		return false;
	djs_warning("kernel.ftrace_enabled was set to 0 meanwhile; it is set to 1 for the time of "
		    "detaching");
	return djs_ftrace_enable(true) == 0;
}

/* No handler of theirs runs when it returns, and none can start. */
static void detach_leaving(void)
{
	bool switched_on;
	u32 i;

	djs_timers_detach();
	switched_on = switch_ftrace_on();
	djs_tracepoints_detach();
	djs_kretprobes_detach();
	djs_kprobes_detach();
	djs_ftraces_detach();
	if (!djs_djprobes_detach())
		djs_drain_handlers();
	if (switched_on)
		djs_ftrace_enable(false);
	for (i = 0; i < djs_script.site_count; i++) {
		if (!djs_sites[i].leaving)
			continue;
		calls_were_counted |= djs_sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE;
		djs_sites[i].armed = 0;
		djs_sites[i].leaving = 0;
	}
}

/* Before its text goes. */
void djs_sites_module_went(u32 domain)
{
	u32 i, armed;

	mutex_lock(&sites_mutex);
	armed = sites_of(domain, true);
	for (i = 0; i < djs_script.site_count; i++)
		djs_sites[i].leaving = djs_sites[i].domain == domain && djs_sites[i].armed;
	if (armed) {
		detach_leaving();
		if (open_to_modules)
			djs_session_message(DJS_RECORD_WARNING,
					    "the module '%s' was unloaded: %u of its functions are "
					    "no longer probed",
					    djs_domain_name(domain), armed);
	}
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->domain != domain)
			continue;
		djs_site_forgive(run);
		run->absent = 1;
	}
	mutex_unlock(&sites_mutex);
}

static bool belongs_to(const struct djs_site_run *run, u32 owner)
{
	if (owner < djs_script.handler_count)
		return run->site->handler == owner;
	return djs_is_direct(run) && run->site->target == owner - djs_script.handler_count;
}

void djs_sites_overload(u32 owner, u32 percent)
{
	const struct djs_site *first = NULL;
	u32 i, count = 0, before, after = 0;

	mutex_lock(&sites_mutex);
	before = armed_sites();
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		run->leaving = run->armed && belongs_to(run, owner);
		count += run->leaving;
		if (run->leaving && !first)
			first = run->site;
	}
	if (count) {
		detach_leaving();
		after = armed_sites();
		djs_session_message(DJS_RECORD_WARNING,
				    "%s had a CPU for %u %% of the time: %u of %u sites are "
				    "disarmed; -D STP_NO_OVERLOAD leaves them on",
				    first->name ?: first->point ?: "a probe", percent,
				    before - after, before);
	}
	mutex_unlock(&sites_mutex);
}

static int arm_locked(void)
{
	u32 i, planned = 0;
	int error;

	refuse_unknown();
	for (i = 0; i < djs_script.site_count; i++)
		planned += djs_script.sites[i].mechanism != DJS_MECHANISM_NONE;
	open_to_modules = true;
	error = attach_domain(0);
	if (!error)
		error = attach_modules();
	if (!error)
		error = djs_tracepoints_attach();
	if (!error)
		error = djs_sites_forced_error();
	if (!error && planned && djs_sites_failed_count() == planned)
		error = djs_sites[0].error ?: -ENODEV;
	if (!error)
		error = djs_timers_attach();
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
	bool armed = false;
	u32 i;

	open_to_modules = false;
	for (i = 0; i < djs_script.site_count; i++) {
		djs_sites[i].leaving = djs_sites[i].armed;
		armed |= djs_sites[i].armed;
	}
	if (armed)
		detach_leaving(); /* who entered a function with a return djprobe is counted now */
	if (calls_were_counted)
		djs_inside_drain();
	calls_were_counted = false;
}

void djs_sites_disarm(void)
{
	djs_overload_stop();
	mutex_lock(&sites_mutex);
	disarm_locked();
	mutex_unlock(&sites_mutex);
}
