// SPDX-License-Identifier: GPL-2.0-or-later
// djprobes: direct calls from functions' fentry sites to handlers.
#include <linux/slab.h>

#include "djprobe/groups.h"

static LIST_HEAD(direct_groups);
static u32 direct_count;

/*
 * Kernels with the _multi interface (before "ftrace: Fix modification of direct_function hash while
 * in use", d05cb470663a) keep at most 8,192 direct calls, of all users together: past that every
 * one leaks 32 KB. Room is left for others. Later kernels have no such limit.
 */
#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
#define DIRECT_MAX 7168u
#else
#define DIRECT_MAX UINT_MAX
#endif

#ifdef DJS_HAVE_FTRACE_OPS_FUNC
/* A livepatch that wants to share a function may: handlers of entries never change where execution
 * goes on. Those of returns do: the function would be called past the patch. */
static int direct_share(struct ftrace_ops *ops, enum ftrace_ops_cmd command)
{
	return container_of(ops, struct djs_group, ops)->returns ? -EBUSY : 0;
}
#endif

static bool has_returns(u32 target)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE &&
		    djs_sites[i].site->target == target)
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

static unsigned long target_of(const struct djs_group *group)
{
	return (unsigned long)djs_script.targets[group->number].direct;
}

static int direct_attach(struct djs_group *group)
{
	unsigned long target = target_of(group);
	int error;

#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	error = register_ftrace_direct_multi(&group->ops, target);
#else
	error = register_ftrace_direct(&group->ops, target);
#endif
	if (!error)
		direct_count += group->count;
	return error;
}

/*
 * The kernel waits for grace periods in every unregistration of an ops that may be freed
 * (FTRACE_OPS_FL_DYNAMIC), with its locks held; RCU tasks allows about ten grace periods a second.
 * None of these ops is freed before all have been waited for: so each is taken out of the text
 * without that flag, then one wait serves all, then their addresses are taken out of the table of
 * direct calls. See docs/decisions/0009-detaching-at-once.md.
 */
static void direct_disconnect(struct djs_group *group)
{
	int error;

	group->ops.flags &= ~FTRACE_OPS_FL_DYNAMIC;
	error = unregister_ftrace_function(&group->ops);
	if (error)
		djs_error("cannot detach %u direct calls (error %d)", group->count, error);
}

static void direct_forget(struct djs_group *group)
{
	unsigned long target = target_of(group);

	/* It is no longer in ftrace's list, which that function says; the table is cleared all the
	 * same. */
	group->ops.flags |= FTRACE_OPS_FL_ENABLED;
#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI
	unregister_ftrace_direct_multi(&group->ops, target);
#else
	unregister_ftrace_direct(&group->ops, target, false);
#endif
	group->ops.flags &= ~FTRACE_OPS_FL_ENABLED;
	ftrace_free_filter(&group->ops);
	direct_count -= group->count;
}

static void direct_refused(struct djs_site_run *run, int error)
{
	if (error == -EBUSY && !run->site->forced && run->site->fallback) {
		run->mechanism = run->mechanism == DJS_MECHANISM_RETURN_DJPROBE
				     ? DJS_MECHANISM_KRETPROBE
				     : DJS_MECHANISM_KPROBE;
		run->fallback = DJS_FALLBACK_BUSY;
		run->probe = run->site->fallback + djs_site_slide(run->site);
		return;
	}
	djs_site_failed(run, error,
			error == -EBUSY ? "another user has the function's direct call"
					: "there is no fentry site at its address");
}

/* Functions beyond what the kernel's table bears get a plain ftrace_ops a handler, or kretprobes.
 */
static void respect_table(u32 domain)
{
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (!djs_is_direct(run) || !djs_is_wanted(run, domain) || run->follows ||
		    direct_count + planned++ < DIRECT_MAX)
			continue;
		for (; run; run = run->next) {
			if (run->site->forced || !djs_script.handlers[run->site->handler].body) {
				djs_site_failed(run, -ENOSPC,
						"the kernel's table of direct calls is full");
				continue;
			}
			run->mechanism = run->mechanism == DJS_MECHANISM_RETURN_DJPROBE
					     ? DJS_MECHANISM_KRETPROBE
					     : DJS_MECHANISM_FTRACE;
			run->fallback = DJS_FALLBACK_TABLE_FULL;
		}
	}
}

int djs_djprobes_attach(u32 domain)
{
	static const struct djs_group_kind kind = {
	    .prepare = direct_prepare,
	    .attach = direct_attach,
	    .refused = direct_refused,
	    .groups = &direct_groups,
	    .takes = djs_is_direct,
	    .by_target = true,
	};

	respect_table(domain);
	return djs_groups_attach(&kind, domain);
}

bool djs_djprobes_detach(void)
{
	struct djs_group *group;

	if (!djs_groups_leave(&direct_groups))
		return false;
	list_for_each_entry (group, &direct_groups, list)
		if (group->leaving)
			direct_disconnect(group);
	djs_drain_handlers();
	list_for_each_entry (group, &direct_groups, list)
		if (group->leaving)
			direct_forget(group);
	djs_groups_forget(&direct_groups);
	return true;
}
