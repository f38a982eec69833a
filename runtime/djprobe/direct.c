// SPDX-License-Identifier: GPL-2.0-or-later
// djprobes: direct calls from the fentry sites of functions to handlers.
#include <linux/kallsyms.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "djprobe/callee.h"
#include "djprobe/djprobe.h"
#include "djprobe/groups.h"
#include "djprobe/inside.h"
#include "djprobe/table.h"

static LIST_HEAD(direct_groups);
static u32 direct_count;

#ifdef DJS_HAVE_FTRACE_OPS_FUNC
/*
 * A livepatch may share every function: handlers at function entry never change where execution
 * continues, and trampolines with return handlers continue at the return address of their direct
 * call, which ftrace gave to the livepatch. Handlers that need to know the function identify it by
 * that address. If a livepatch has the function first, djstap uses an ftrace_ops there; a livepatch
 * that is loaded later is never refused.
 */
#ifdef DJS_HAVE_FTRACE_OPS_PLACE
static int direct_share(struct ftrace_ops *ops, unsigned long place, enum ftrace_ops_cmd command)
#else
static int direct_share(struct ftrace_ops *ops, enum ftrace_ops_cmd command)
#endif
{
	const struct djs_group *group = container_of(ops, struct djs_group, ops);

	if (!djs_script.trampolines[group->number].by_address)
		return 0;
	if (command == FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_SELF)
		return -EBUSY;
	if (command == FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER)
		djs_message_alone("a livepatch was applied: probes of several functions cannot "
				  "name those that it replaces");
	return 0;
}
#endif

static bool has_returns(u32 trampoline)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE &&
		    djs_sites[i].site->trampoline == trampoline)
			return true;
	return false;
}

static void direct_prepare(struct djs_group *group)
{
	group->returns = has_returns(group->number);
#ifdef DJS_HAVE_FTRACE_OPS_FUNC
	group->ops.ops_func = direct_share;
#endif
}

static unsigned long trampoline_of(const struct djs_group *group)
{
	return (unsigned long)djs_script.trampolines[group->number].direct;
}

/* Points a trampoline that calls a function of a module at it. No task can be inside the
 * trampoline: it is not attached anywhere, and its handlers had finished when it was detached. */
static int direct_aim(const struct djs_group *group)
{
	const struct djs_trampoline *trampoline = &djs_script.trampolines[group->number];

	if (!trampoline->aim)
		return 0;
#ifdef CONFIG_HAVE_STATIC_CALL
	BUILD_BUG_ON(sizeof(struct static_call_key) > DJS_AIM_WORDS * sizeof(long));
	__static_call_update(trampoline->aim, (u8 *)trampoline->dispatch + DJS_LANDING_PAD_BYTES,
			     (void *)(group->first + MCOUNT_INSN_SIZE));
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

void djs_not_aimed(void)
{
}

static int direct_attach(struct djs_group *group)
{
	unsigned long trampoline = trampoline_of(group);
	int error = direct_aim(group);

	if (error)
		return error;
	if (group->returns)
		djs_inside_expect();
#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	error = register_ftrace_direct_multi(&group->ops, trampoline);
#else
	error = register_ftrace_direct(&group->ops, trampoline);
#endif
	if (!error)
		direct_count += group->count;
	return error;
}

static bool calls_remain(const struct djs_group *group)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].data == group &&
		    within_module(djs_callee_of(djs_sites[i].address), THIS_MODULE))
			return true;
	return false;
}

/*
 * The kernel waits for grace periods, with its locks held, in every unregistration of an ops that
 * may be freed (FTRACE_OPS_FL_DYNAMIC); RCU tasks allows about ten grace periods a second. None of
 * these ops is freed before all of them have been drained. Therefore each one is first removed from
 * the text without that flag, then one wait serves all, then their addresses are removed from the
 * table of direct calls. See docs/decisions/0009-detaching-at-once.md.
 */
static int direct_disconnect(struct djs_group *group)
{
	int error;

	group->ops.flags &= ~FTRACE_OPS_FL_DYNAMIC;
	error = unregister_ftrace_function(&group->ops);
	/* ftrace may also shut itself down on the way without reporting it. */
	return error ?: calls_remain(group) ? -ENODEV : 0;
}

static void direct_release(struct djs_group *group)
{
	unsigned long trampoline = trampoline_of(group);

	/* The ops are no longer in ftrace's list, so the call below fails there, but it clears the
	 * table. */
	group->ops.flags |= FTRACE_OPS_FL_ENABLED;
#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	unregister_ftrace_direct_multi(&group->ops, trampoline);
#else
	unregister_ftrace_direct(&group->ops, trampoline, false);
#endif
	group->ops.flags &= ~FTRACE_OPS_FL_ENABLED;
	ftrace_free_filter(&group->ops);
	direct_count -= group->count;
}

/*
 * True if the fentry site calls another user's code directly rather than one of ftrace's
 * trampolines. The latter have no symbols, except for the two that are part of the kernel.
 */
static bool is_called_directly(unsigned long site)
{
	unsigned long callee = djs_callee_of(site);
	char name[KSYM_SYMBOL_LEN];

	if (!callee)
		return false;
	sprint_symbol(name, callee);
	return !strstarts(name, "0x") && !strstarts(name, "ftrace_");
}

/*
 * Another direct user has the function. A kprobe at the instruction after the site leaves that
 * user's call alone, and is hit unless a livepatch redirects the caller. If ftrace is already
 * attached at the site, that may be the case, so an ftrace_ops is used.
 */
static bool find_other_way(struct djs_site_run *run)
{
	const struct djs_site *site = run->site;
	bool returns = run->mechanism == DJS_MECHANISM_RETURN_DJPROBE;

	if (site->forced || !djs_script.handlers[site->handler].body ||
	    (returns && !djs_site_has_fallback(site)))
		return false;
	run->fallback = DJS_FALLBACK_BUSY;
	if (!returns && !(djs_site_has_fallback(site) && is_called_directly(run->address))) {
		djs_site_use(run, DJS_MECHANISM_FTRACE);
		return true;
	}
	djs_site_use(run, returns ? DJS_MECHANISM_KRETPROBE : DJS_MECHANISM_KPROBE);
	run->probe = site->address + site->fallback + djs_site_bias(site);
	return true;
}

static void direct_refused(struct djs_site_run *run, int error)
{
	if (error == -EBUSY && find_other_way(run))
		return;
	djs_site_failed(run, error,
			error == -EBUSY ? "another user has the function's direct call"
					: "no fentry site at its address");
}

static unsigned long table_address(void)
{
	return djs_script.direct_table ? djs_script.direct_table + djs_biases[0] : 0;
}

/* Functions that exceed the capacity of the kernel's table get one plain ftrace_ops per handler, or
 * kretprobes. */
static void respect_table(void)
{
	u32 i, planned = 0, room = djs_direct_room(table_address(), direct_count);

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (!djs_is_direct(run) || !run->wanted || run->armed || run->error ||
		    run->follows || planned++ < room)
			continue;
		for (; run; run = run->next) {
			if (run->site->forced || !djs_script.handlers[run->site->handler].body) {
				djs_site_failed(run, -ENOSPC,
						"the kernel's table of direct calls is full");
				continue;
			}
			djs_site_use(run, run->mechanism == DJS_MECHANISM_RETURN_DJPROBE
					      ? DJS_MECHANISM_KRETPROBE
					      : DJS_MECHANISM_FTRACE);
			run->fallback = DJS_FALLBACK_TABLE_FULL;
		}
	}
}

static const struct djs_group_kind direct_kind = {
    .prepare = direct_prepare,
    .attach = direct_attach,
    .refused = direct_refused,
    .groups = &direct_groups,
    .takes = djs_is_direct,
    .disconnect = direct_disconnect,
    .undrained = true,
    .release = direct_release,
    .by_trampoline = true,
};

void djs_direct_disarm_sharing(void)
{
	struct djs_site_run *run, *end = djs_sites + djs_script.site_count;

	for (run = djs_sites; run < end; run++)
		if (djs_is_direct(run) && run->data && run->disarmed)
			((struct djs_group *)run->data)->disarmed = true;
	for (run = djs_sites; run < end; run++)
		if (djs_is_direct(run) && run->data)
			run->disarmed = ((const struct djs_group *)run->data)->disarmed;
}

static int djprobes_attach(void)
{
	struct file *lock;
	int error;

	if (!djs_groups_any_to_attach(&direct_kind))
		return 0;
	lock = djs_direct_lock();
	respect_table();
	error = djs_groups_attach(&direct_kind);
	djs_direct_unlock(lock);
	return error;
}

static void djprobes_disarm(void)
{
	djs_groups_detach(&direct_kind);
}

const struct djs_mechanism_ops djs_ops_djprobe = {
    .attach = djprobes_attach,
    .disarm = djprobes_disarm,
    .drains = true,
};
