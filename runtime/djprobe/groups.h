/* SPDX-License-Identifier: GPL-2.0-or-later
 * ftrace_ops, for direct.c and ftrace.c. As a rule one ops bears all sites of a direct target, or
 * of a handler; where the kernel refuses some of them, they are halved until the refused ones are
 * found.
 */
#ifndef DJSTAP_GROUPS_H
#define DJSTAP_GROUPS_H

#include <linux/ftrace.h>
#include <linux/list.h>

#include "control/runtime.h"

struct djs_group_kind;

struct djs_group {
	struct list_head list;
	const struct djs_group_kind *kind;
	struct ftrace_ops ops;
	u32 number;   /* of the target, or of the handler */
	u32 count;    /* functions */
	bool returns; /* its target has return handlers */
	bool leaving; /* some site of it is to be detached, and so all are */
};

struct djs_group_kind {
	void (*prepare)(struct djs_group *group); /* fills group->ops before its filter is set */
	int (*attach)(struct djs_group *group);	  /* registers it */
	/* One site that cannot have this mechanism. */
	void (*refused)(struct djs_site_run *run, int error);
	struct list_head *groups;
	bool (*takes)(const struct djs_site_run *run); /* whether it is planned so */
	bool by_target; /* an ops bears a target's sites, else a handler's */
};

/* Attaches all sites of a domain that are wanted and that kind->takes; what fails goes to
 * kind->refused. Only -ENOMEM is an error. */
int djs_groups_attach(const struct djs_group_kind *kind, u32 domain);
/* Sets `leaving` of the groups that have to go, with all their sites. True: there are some. */
bool djs_groups_leave(const struct list_head *groups);
/* Forgets the groups that have left. */
void djs_groups_forget(struct list_head *groups);

#endif
