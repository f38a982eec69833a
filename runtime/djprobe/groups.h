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

struct djs_group {
	struct list_head list;
	struct ftrace_ops ops;
	u32 number;	     /* of the target, or of the handler */
	u32 count;	     /* functions */
	unsigned long first; /* the fentry site of one */
	bool returns;	     /* its target has return handlers */
};

struct djs_group_kind {
	void (*prepare)(struct djs_group *group); /* fills group->ops before its filter is set */
	int (*attach)(struct djs_group *group);	  /* registers it */
	/* One site that cannot have this mechanism. */
	void (*refused)(struct djs_site_run *run, int error);
	struct list_head *groups;
	bool (*takes)(const struct djs_site_run *run); /* whether it is planned so */
	/* What can be done for many before one wait for their handlers; NULL: nothing. */
	void (*disconnect)(struct djs_group *group);
	void (*detach)(struct djs_group *group); /* unregisters it, with its filter */
	bool by_target; /* an ops bears a target's sites, else a handler's */
};

/* Attaches all wanted sites that kind->takes; what fails goes to kind->refused. Only -ENOMEM is
 * an error. */
int djs_groups_attach(const struct djs_group_kind *kind);
/* Detaches the groups whose sites are not wanted: all of a group are, or none. */
void djs_groups_detach(const struct djs_group_kind *kind);

#endif
