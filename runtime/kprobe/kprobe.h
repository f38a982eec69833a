/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kprobes and kretprobes. */
#ifndef DJSTAP_KPROBE_MECHANISM_H
#define DJSTAP_KPROBE_MECHANISM_H

#include "sites/mechanism.h"

/* Hits that the kernel did not hand on, since the script was loaded. */
u64 djs_kprobes_missed(void);
u64 djs_kretprobes_missed(void);
/* True when the kernel uses ftrace for a kprobe at run->probe. */
bool djs_at_fentry_site(const struct djs_site_run *run);
/* Enables or disables a registered kprobe as its site is wanted. */
struct kprobe;
void djs_kprobe_follow(struct kprobe *kprobe, const struct djs_site_run *run);
/* Whether a kprobe, or a kretprobe's, can be unregistered: it is disabled now. Else it stays
 * registered and the module is pinned. */
bool djs_kprobe_lets_go(struct kprobe *kprobe);

#endif
