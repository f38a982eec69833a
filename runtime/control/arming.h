/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arms and disarms a script, and when: its session, modules and livepatches that are loaded
 * and unloaded, and its control file. */
#ifndef DJSTAP_ARMING_H
#define DJSTAP_ARMING_H

#include "sites/sites.h"

/* Initializes the sites, and everything that is notified when they change. */
int djs_arming_init(void);
void djs_arming_exit(void);
/* Arms every site. Sites that fail are reported and counted; only a forced site's failure is an
 * error. */
int djs_sites_arm(void);
/* Arms and disarms sites according to the current values of conditions. */
void djs_sites_rearm(void);
/* Detaches all probes; when it returns, no handler is running or can start. */
void djs_sites_disarm(void);
u64 djs_site_missed(const struct djs_site_run *run);

int djs_modules_init(void);
void djs_modules_exit(void);
/* Places the sites of modules that are loaded, and those of others when they are loaded. These, and
 * the functions below them, are called with the sites locked. */
int djs_modules_follow(void);
void djs_modules_ignore(void);
bool djs_modules_followed(void);
void djs_sites_rearm_locked(void);
/* Detaches the sites of a module, none of which is wanted any more. */
void djs_sites_forget(u32 image);

/* A livepatch was loaded: probes that are placed behind fentry sites may no longer be reached. */
int djs_livepatch_init(void);
void djs_livepatch_exit(void);
void djs_livepatch_watch(void);
void djs_livepatch_ignore(void);

/* Evaluates each condition, and marks the sites that it wants. Task context. */
void djs_conditions_evaluate(void);
void djs_conditions_exit(void);
/* Switches a probe's handlers, and the sites that only they need, on or off. -ENOENT: the probe has
 * no switch. */
int djs_probe_switch(u32 probe, bool on);

int djs_session_start(void);
void djs_session_stop(void);
void djs_session_rearm(void);	  /* conditions have changed */
void djs_session_abandoned(void); /* the owner closed the file without DJS_IOC_STOP */

int djs_proc_init(void);
void djs_proc_exit(void);

#endif
