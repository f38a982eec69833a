/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arms and disarms a script, and when: its session, modules and livepatches that come and go,
 * its file. */
#ifndef DJSTAP_ARMING_H
#define DJSTAP_ARMING_H

#include "sites/sites.h"

/* The sites, and everybody who is told when they change. */
int djs_arming_init(void);
void djs_arming_exit(void);
/* Arms every site. Sites that fail are reported and counted; an error only when a forced one fails.
 */
int djs_sites_arm(void);
/* Arms and disarms what conditions now ask for. */
void djs_sites_rearm(void);
/* Takes all probes out; when it returns no handler runs and none can start. */
void djs_sites_disarm(void);
u64 djs_site_missed(const struct djs_site_run *run);

int djs_modules_init(void);
void djs_modules_exit(void);
void djs_sites_module_came(u32 image, struct module *module);
void djs_sites_module_went(u32 image);

/* A livepatch came: probes that stand behind fentry sites may have lost their functions. */
int djs_livepatch_init(void);
void djs_livepatch_exit(void);
void djs_livepatch_watch(void);
void djs_livepatch_ignore(void);

/* Finds out what each condition is, and which sites are wanted by that. Task context. */
void djs_conditions_evaluate(void);
void djs_conditions_exit(void);

int djs_session_start(void);
void djs_session_stop(void);
void djs_session_rearm(void);	  /* conditions have changed */
void djs_session_abandoned(void); /* the owner closed without stopping */

int djs_proc_init(void);
void djs_proc_exit(void);

#endif
