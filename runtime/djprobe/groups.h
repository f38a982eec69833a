/* SPDX-License-Identifier: GPL-2.0-or-later
 * ftrace_ops of the sites of one handler, for direct.c and ftrace.c. As a rule one ops bears all
 * sites of a handler; where the kernel refuses some of them, they are halved until the refused ones
 * are found.
 */
#ifndef DJSTAP_GROUPS_H
#define DJSTAP_GROUPS_H

#include <linux/ftrace.h>
#include <linux/list.h>

#include "control/runtime.h"

struct djs_group {
	struct list_head list;
	struct ftrace_ops ops;
	const struct djs_handler *handler;
	u32 count; /* sites */
};

struct djs_group_kind {
	void (*prepare)(struct djs_group *group); /* fills group->ops before its filter is set */
	int (*attach)(struct djs_group *group);	  /* registers it */
	/* One site that cannot have this mechanism. */
	void (*refused)(struct djs_site_run *run, int error);
	struct list_head *groups;
};

/* Attaches all sites planned as `mechanism`; what fails goes to kind->refused. Only -ENOMEM is an
 * error. */
int djs_groups_attach(const struct djs_group_kind *kind, u8 mechanism);

#endif
