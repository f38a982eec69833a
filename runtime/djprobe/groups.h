/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ftrace_ops, for direct.c and ftrace.c. Normally one ops covers all sites of a direct trampoline,
 * or of a handler; if the kernel refuses some of them, the set is halved until the refused sites
 * are found.
 */
#ifndef DJSTAP_GROUPS_H
#define DJSTAP_GROUPS_H

#include <linux/ftrace.h>
#include <linux/list.h>

#include "sites/mechanism.h"

struct djs_group {
	struct list_head list;
	struct ftrace_ops ops;
	u32 number;	     /* of the trampoline, or of the handler */
	u32 count;	     /* number of functions */
	unsigned long first; /* the fentry site of one function */
	bool returns;	     /* its trampoline has return handlers */
	bool stuck;	     /* it could not be detached: stays attached for ever */
	bool disarmed;	     /* one of its sites is: for djs_direct_disarm_sharing */
};

struct djs_group_kind {
	void (*prepare)(struct djs_group *group); /* fills group->ops before its filter is set */
	int (*attach)(struct djs_group *group);	  /* registers the group */
	/* Handles one site that cannot have this mechanism. */
	void (*refused)(struct djs_site_run *run, int error);
	struct list_head *groups;
	/* whether the site is planned with this mechanism */
	bool (*takes)(const struct djs_site_run *run);
	/* Removes the ops from the text. Returns 0, or an error if the kernel keeps calling it. */
	int (*disconnect)(struct djs_group *group);
	bool undrained; /* disconnect() does not wait for handlers: one wait serves many */
	/* releases its kernel resources, including the filter */
	void (*release)(struct djs_group *group);
	bool by_trampoline; /* an ops covers the sites of a trampoline, else those of a handler */
};

/* Returns whether there is a site that djs_groups_attach would attach. */
bool djs_groups_any_to_attach(const struct djs_group_kind *kind);
/* Attaches all wanted sites for which kind->takes is true; failures go to kind->refused. Only
 * -ENOMEM is an error. */
int djs_groups_attach(const struct djs_group_kind *kind);
/* Detaches the groups whose sites are not wanted; either all sites of a group are wanted, or none.
 * If the kernel cannot detach one, it stays attached, and the module is pinned. */
void djs_groups_detach(const struct djs_group_kind *kind);

#endif
