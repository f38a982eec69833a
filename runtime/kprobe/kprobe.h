/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kprobes and kretprobes. */
#ifndef DJSTAP_KPROBE_MECHANISM_H
#define DJSTAP_KPROBE_MECHANISM_H

#include "sites/mechanism.h"

/* Hits that the kernel did not pass on. */
struct djs_misses {
	u64 nested;	      /* another kprobe was being handled on the CPU */
	u64 without_instance; /* of kretprobes: all instances were in use */
};

/* Those since the script was loaded. */
struct djs_misses djs_kprobes_missed(void);
struct djs_misses djs_kretprobes_missed(void);
/* A post handler that does nothing: the kernel makes no jump of a kprobe that has one. */
void djs_kprobe_after(struct kprobe *kprobe, struct pt_regs *regs, unsigned long flags);
/* True if the kernel uses ftrace for a kprobe at run->probe. May sleep. */
bool djs_at_fentry_site(const struct djs_site_run *run);
/* True, and the site has failed, if registering a kprobe at run->probe could crash the kernel. */
bool djs_kprobe_refused(struct djs_site_run *run);

#endif
