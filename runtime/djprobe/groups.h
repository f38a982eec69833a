/* SPDX-License-Identifier: GPL-2.0-or-later
 * ftrace_ops, for direct.c and ftrace.c. As a rule one ops bears all sites of a direct target, or
 * of a handler; where the kernel refuses some of them, they are halved until the refused ones are
 * found.
 */
#ifndef DJSTAP_GROUPS_H
#define DJSTAP_GROUPS_H

#include <linux/ftrace.h>
#include <linux/list.h>

#include "sites/mechanism.h"

struct djs_group {
	struct list_head list;
	struct ftrace_ops ops;
	u32 number;	     /* of the target, or of the handler */
	u32 count;	     /* functions */
	unsigned long first; /* the fentry site of one */
	bool returns;	     /* its target has return handlers */
	bool stuck;	     /* it could not be taken out: stays as it is, for ever */
};

struct djs_group_kind {
	void (*prepare)(struct djs_group *group); /* fills group->ops before its filter is set */
	int (*attach)(struct djs_group *group);	  /* registers it */
	/* One site that cannot have this mechanism. */
	void (*refused)(struct djs_site_run *run, int error);
	struct list_head *groups;
	bool (*takes)(const struct djs_site_run *run); /* whether it is planned so */
	/* Takes it out of the text: 0, or an error, and the kernel goes on calling it. */
	int (*disconnect)(struct djs_group *group);
	bool undrained; /* disconnect() does not wait for handlers: one wait serves many */
	void (*release)(struct djs_group *group); /* what it has of the kernel's, its filter, too */
	bool by_target; /* an ops bears a target's sites, else a handler's */
};

/* How many sites djs_groups_attach would attach. */
u32 djs_groups_to_attach(const struct djs_group_kind *kind);
/* Attaches all wanted sites that kind->takes; what fails goes to kind->refused. Only -ENOMEM is
 * an error. */
int djs_groups_attach(const struct djs_group_kind *kind);
/* Detaches the groups whose sites are not wanted: all of a group are, or none. One that the kernel
 * does not take out is left alone, and the module pinned. */
void djs_groups_detach(const struct djs_group_kind *kind);

#endif
