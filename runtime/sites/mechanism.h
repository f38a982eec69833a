/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the folder of a mechanism gives to control/, which arms and disarms. */
#ifndef DJSTAP_MECHANISM_H
#define DJSTAP_MECHANISM_H

#include "sites/sites.h"

/* Task context, with the sites locked. What is NULL has nothing to do. */
struct djs_mechanism_ops {
	/* Attaches its sites that are wanted and not armed. What fails of one site is noted in it
	 * (djs_site_failed); an error is of all. */
	int (*attach)(void);
	/* Takes out those that are armed and not wanted, or has them not be hit. */
	void (*disarm)(void);
	/* At the end, when none is wanted: takes out all. NULL: disarm does. */
	void (*detach)(void);
	/* Before the text of a module goes, whose sites are not wanted any more: takes out what
	 * stands in it. NULL: disarm does. */
	void (*forget)(u32 image);
	/* What a site of it has missed since it is armed. */
	u64 (*missed)(const struct djs_site_run *run);
	/* Frees what is kept of detached ones. */
	void (*free)(void);
	/* Where it, or what is attached after it, stands at an fentry site, the kernel may not
	 * switch ftrace off. */
	bool keeps_ftrace;
	/* Attached when all others stand: it calls handlers by itself. */
	bool last;
};

#endif
