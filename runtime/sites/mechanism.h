/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of a mechanism's folder, which control/ calls to arm and disarm. */
#ifndef DJSTAP_MECHANISM_H
#define DJSTAP_MECHANISM_H

#include "sites/sites.h"

/* Called in task context, with the sites locked. NULL operations do nothing. */
struct djs_mechanism_ops {
	/* Attaches its sites that are wanted and not armed. The failure of one site is noted in it
	 * (djs_site_failed); a returned error concerns all of them. */
	int (*attach)(void);
	/* Called once, when handlers run: at the end of the session's start. */
	void (*begin)(void);
	/* Detaches the sites that are armed and not wanted, or keeps them from being hit. */
	void (*disarm)(void);
	/* At the end, when no site is wanted: detaches all of them. NULL: disarm does. */
	void (*detach)(void);
	/* Called before a module's text is freed, whose sites are not wanted any more: detaches the
	 * probes in it. NULL: disarm does. */
	void (*forget)(u32 image);
	/* Returns the hits that a site has missed since it was armed. */
	u64 (*missed)(const struct djs_site_run *run);
	/* Frees what is kept of detached sites. */
	void (*free)(void);
	/* If the mechanism, or one that is attached later, has a probe at an fentry site, the
	 * kernel must not switch ftrace off. */
	bool keeps_ftrace;
	/* Attached after all others, because it may call handlers immediately. */
	bool last;
	/* When disarm returns, no handler that it led to is still running. */
	bool drains;
};

/* Those of a mechanism that a kit lacks are zeros of this size (compiler/module/parts.h). */
_Static_assert(sizeof(struct djs_mechanism_ops) <= 16 * sizeof(long), "stand-ins are too small");

#endif
