// SPDX-License-Identifier: GPL-2.0-or-later
// The same sites through ftrace's own trampolines: for more functions than there can be direct
// calls, and on demand. It costs more per hit, but shares sites with all users.
#include <linux/slab.h>

#include "context/context.h"
#include "djprobe/groups.h"

static LIST_HEAD(ops_groups);

static __always_inline const struct djs_handler *handler_of(const struct djs_group *group)
{
	return &djs_script.handlers[group->number];
}

static DJS_HANDLER_CODE void ops_hit(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	const struct djs_handler *handler = handler_of(container_of(ops, struct djs_group, ops));

	djs_run_handler(handler, djs_find_site(handler, ip + MCOUNT_INSN_SIZE),
			ftrace_get_regs(fregs));
}

/* Attaches without the kernel's guard against re-entry (FTRACE_OPS_FL_RECURSION): djs_enter has its
 * own, for each level of interruption, and a handler without a context calls nothing that could be
 * traced. */
static void ops_prepare(struct djs_group *group)
{
	if (handler_of(group)->by_ftrace) {
		group->ops.func = (ftrace_func_t)handler_of(group)->by_ftrace;
		return;
	}
	group->ops.func = ops_hit;
	group->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
}

static int ops_attach(struct djs_group *group)
{
	return register_ftrace_function(&group->ops);
}

static int ops_disconnect(struct djs_group *group)
{
	return unregister_ftrace_function(&group->ops);
}

static void ops_release(struct djs_group *group)
{
	ftrace_free_filter(&group->ops);
}

static void ops_refused(struct djs_site_run *run, int error)
{
	djs_site_failed(run, error, "ftrace rejected the function");
}

static bool ops_takes(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_FTRACE;
}

static const struct djs_group_kind ops_kind = {
    .prepare = ops_prepare,
    .attach = ops_attach,
    .refused = ops_refused,
    .groups = &ops_groups,
    .takes = ops_takes,
    .disconnect = ops_disconnect,
    .release = ops_release,
};

static int ftraces_attach(void)
{
	return djs_groups_attach(&ops_kind);
}

static void ftraces_disarm(void)
{
	djs_groups_detach(&ops_kind);
}

const struct djs_mechanism_ops djs_ops_ftrace = {
    .attach = ftraces_attach,
    .disarm = ftraces_disarm,
    .drains = true, /* the kernel does, for an ops that may be freed */
};
