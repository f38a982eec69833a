// SPDX-License-Identifier: GPL-2.0-or-later
// Arms and disarms the sites of a script: at the beginning and the end of a session, when a
// condition changes, and when a probe takes too much time.
#include "context/context.h"
#include "control/arming.h"
#include "control/mechanisms.h"
#include "djprobe/djprobe.h"
#include "kprobe/kprobe.h"
#include "ustack/ustack.h"

/* True if attaching the site as planned changes ftrace's state. */
static bool uses_ftrace(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_USES_FTRACE) ||
	       (djs_mechanism_can(run->mechanism, DJS_IS_KPROBE | DJS_HAS_KPROBE) &&
		djs_at_fentry_site(run));
}

/* kernel.ftrace_enabled is 0: only mechanisms that work without ftrace are attached. */
static void do_without_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->absent || !uses_ftrace(run))
			continue;
		if (run->mechanism == DJS_MECHANISM_DJPROBE && !run->site->forced &&
		    djs_site_has_fallback(run->site)) {
			djs_site_use(run, DJS_MECHANISM_KPROBE);
			run->fallback = DJS_FALLBACK_FTRACE_OFF;
			run->probe =
			    run->site->address + run->site->fallback + djs_site_bias(run->site);
		} else {
			djs_site_failed(run, -EPERM, "kernel.ftrace_enabled is 0");
		}
	}
}

/* Returns whether nothing but the session's end detaches what is attached. */
static bool stays_attached(void)
{
	return !djs_sites_come_back() && !djs_script.overload_percent;
}

/* Called before kprobes and kretprobes are attached: keeps those at fentry sites from losing hits.
 * The script's own direct calls and ftrace_ops ensure that for all, as long as they are there. */
static void keep_ftrace(void)
{
	bool needed = false, held = false, kprobes = false;
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		const struct djs_site_run *run = &djs_sites[i];

		if (run->error || run->absent || !uses_ftrace(run))
			continue;
		needed = true;
		if (djs_mechanism_can(run->mechanism, DJS_IS_KPROBE | DJS_HAS_KPROBE))
			kprobes = true;
		else
			held |= run->armed;
	}
	if (held && (stays_attached() || (!kprobes && !djs_script.condition_count)))
		return;
	if (needed && djs_ftrace_keep() == -EBUSY)
		do_without_ftrace();
}

static void let_go_of_ftrace(void)
{
	int error = djs_ftrace_let_go();

	if (error)
		djs_pin(1, error);
}

static void refuse_unknown(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism >= DJS_MECHANISM_COUNT)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this runtime does not support its mechanism");
}

/* `last`: the sites that are attached after all others. A script may have tens of thousands of
 * sites, which each mechanism would search for its own: those that never had one are not asked. */
static int attach_wanted(bool last)
{
	int error = 0;
	u32 i;

	for (i = 0; i < DJS_MECHANISM_COUNT && !error; i++) {
		const struct djs_mechanism_ops *ops = djs_mechanism_ops_once(i);

		if (!ops || !ops->attach || ops->last != last)
			continue;
		if (ops->keeps_ftrace)
			keep_ftrace();
		if (djs_mechanism_rows(ops) & djs_mechanisms_used)
			error = ops->attach();
		if (djs_mechanism_can(i, DJS_IS_KPROBE))
			djs_livepatch_watch();
	}
	return error;
}

static void disarm_unwanted(void)
{
	const struct djs_mechanism_ops *ops;
	u32 i;

	djs_for_each_ops_backwards(i, ops)
	{
		if (ops->disarm)
			ops->disarm();
	}
}

static void detach_all(void)
{
	const struct djs_mechanism_ops *ops;
	u32 i;

	djs_for_each_ops_backwards(i, ops)
	{
		if (ops->detach)
			ops->detach();
		else if (ops->disarm)
			ops->disarm();
	}
}

static int ask_ftrace(void)
{
	int enabled = djs_ftrace_enabled();

	djs_ftrace_dead = enabled == -ENODEV;
	return enabled;
}

void djs_sites_forget(u32 image)
{
	const struct djs_mechanism_ops *ops;
	u32 i;

	ask_ftrace();
	djs_for_each_ops_backwards(i, ops)
	{
		if (ops->forget)
			ops->forget(image);
		else if (ops->disarm)
			ops->disarm();
	}
}

static void note_armed(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		djs_sites[i].was_armed |= djs_sites[i].armed;
}

/* Returns the error of a site whose mechanism is forced, or of the first site if all have failed.
 */
static int refused_error(void)
{
	u32 i, planned = 0, failed = djs_sites_failed_count();

	if (!failed)
		return 0;
	for (i = 0; i < djs_script.site_count; i++) {
		if (djs_sites[i].error && djs_sites[i].site->forced)
			return djs_sites[i].error;
		planned += djs_sites[i].mechanism != DJS_MECHANISM_NONE;
	}
	return failed == planned ? djs_sites[0].error ?: -ENODEV : 0;
}

static bool any_uses_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (!djs_sites[i].absent && uses_ftrace(&djs_sites[i]))
			return true;
	return false;
}

static int arm_locked(void)
{
	int error;

	if (djs_mechanisms_unknown)
		refuse_unknown();
	error = djs_modules_follow();
	if (error)
		return error;
	djs_conditions_evaluate();
	if (any_uses_ftrace()) {
		int enabled = djs_ftrace_enabled();

		if (enabled == -ENODEV)
			djs_session_message(DJS_RECORD_WARNING, "ftrace has disabled itself");
		else if (enabled < 0)
			djs_session_message(
			    DJS_RECORD_WARNING,
			    "cannot read kernel.ftrace_enabled (error %d): is /proc mounted?",
			    enabled);
		if (enabled <= 0)
			do_without_ftrace();
	}
	error = attach_wanted(false);
	if (!error)
		error = refused_error();
	if (!error)
		error = attach_wanted(true);
	note_armed();
	return error;
}

/* While kernel.ftrace_enabled is 0, sites that need ftrace keep their state: their handlers check
 * the condition, too. */
static void leave_to_ftrace(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (!djs_sites[i].absent && uses_ftrace(&djs_sites[i]))
			djs_sites[i].wanted = djs_sites[i].armed;
}

void djs_sites_rearm_locked(void)
{
	int error;

	djs_conditions_evaluate();
	if (ask_ftrace() <= 0)
		leave_to_ftrace();
	disarm_unwanted();
	error = attach_wanted(false);
	if (!error)
		error = attach_wanted(true);
	if (error)
		djs_session_message(DJS_RECORD_WARNING, "not all probes could be armed (error %d)",
				    error);
	note_armed();
}

void djs_sites_rearm(void)
{
	djs_sites_lock();
	djs_sites_rearm_locked();
	djs_sites_unlock();
}

/* ---- probes that take too much time ---------------------------------------------------------- */

static bool belongs_to(const struct djs_site_run *run, u32 owner)
{
	if (owner < djs_script.handler_count)
		return run->site->handler == owner;
	return djs_is_direct(run) && run->site->trampoline == owner - djs_script.handler_count;
}

/* Sites that share its ops are disarmed with it. There may be tens of thousands. */
static u32 disarm_owner(u32 owner)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].armed && belongs_to(&djs_sites[i], owner))
			djs_sites[i].disarmed = 1;
	djs_direct_disarm_sharing();
	for (i = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].armed && djs_sites[i].disarmed;
	return count;
}

/* `owner`: a handler, or handler_count + a trampoline. */
static void disarm_overload(u32 owner, u32 percent)
{
	const struct djs_site *first = NULL;
	u32 i, count, sites = 0;

	djs_sites_lock();
	for (i = 0; i < djs_script.site_count; i++) {
		if (djs_sites[i].armed && belongs_to(&djs_sites[i], owner) && !first)
			first = djs_sites[i].site;
		sites += djs_sites[i].mechanism != DJS_MECHANISM_NONE;
	}
	count = first && djs_modules_followed() ? disarm_owner(owner) : 0;
	if (count) {
		djs_sites_rearm_locked();
		djs_session_message(
		    DJS_RECORD_WARNING,
		    "%s used %u %% of a CPU: %u of %u sites %s disarmed; -D STP_NO_OVERLOAD keeps "
		    "%s armed",
		    djs_script.handlers[first->handler].written ?: djs_site_shown(first), percent,
		    count, sites, count == 1 ? "is" : "are", count == 1 ? "it" : "them");
	}
	djs_sites_unlock();
}

/*
 * ---- all sites ----------------------------------------------------------------------------------
 */

int djs_sites_arm(void)
{
	int error;

	djs_sites_lock();
	error = arm_locked();
	djs_sites_unlock();
	if (error)
		djs_sites_disarm();
	else
		djs_overload_start(disarm_overload);
	return error;
}

static void disarm_locked(void)
{
	bool ftrace = false, armed = false, switched_on = false, drained = true;
	u32 i;

	djs_modules_ignore();
	note_armed();
	for (i = 0; i < djs_script.site_count; i++) {
		armed |= djs_sites[i].was_armed;
		drained &=
		    !djs_sites[i].was_armed || djs_mechanism_ops(djs_sites[i].mechanism)->drains;
		ftrace |= djs_sites[i].armed && uses_ftrace(&djs_sites[i]);
		djs_sites[i].wanted = 0;
	}
	if (!armed) {
		djs_livepatch_ignore();
		let_go_of_ftrace();
		return;
	}
	switched_on = ftrace && ask_ftrace() == 0 && djs_ftrace_enable(true) == 0;
	if (switched_on)
		djs_warning("kernel.ftrace_enabled was set to 0 in the meantime; it is set to 1 "
			    "while the probes are detached");
	detach_all();
	djs_livepatch_ignore();
	let_go_of_ftrace();
	for (i = 0; i < djs_script.site_count; i++)
		djs_sites[i].armed = 0;
	/* Each wait takes about a tenth of a second. Afterwards, calls that entered a function with
	 * a return djprobe are counted. */
	if (!drained || djs_pinned())
		djs_drain_handlers();
	if (switched_on)
		djs_ftrace_enable(false);
	if (!djs_pinned())
		djs_inside_drain();
}

void djs_sites_disarm(void)
{
	djs_overload_stop();
	djs_sites_lock();
	disarm_locked();
	djs_sites_unlock();
	djs_user_places_report();
}

u64 djs_site_missed(const struct djs_site_run *run)
{
	const struct djs_mechanism_ops *ops = djs_mechanism_ops(run->mechanism);

	return run->missed + (run->data && ops->missed ? ops->missed(run) : 0);
}

int djs_arming_init(void)
{
	int error = djs_sites_init();

	if (error)
		return error;
	error = djs_modules_init();
	if (!error)
		error = djs_livepatch_init();
	if (error)
		djs_arming_exit();
	return error;
}

void djs_arming_exit(void)
{
	const struct djs_mechanism_ops *ops;
	u32 i;

	djs_livepatch_exit();
	djs_modules_exit();
	djs_for_each_ops_backwards(i, ops)
	{
		if (ops->free)
			ops->free();
	}
	djs_sites_exit();
}
