/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kprobes and kretprobes have alike: probes that are registered with the kernel once, then
 * enabled and disabled, and registered again when their module comes back. */
#ifndef DJSTAP_KPROBE_REGISTERED_H
#define DJSTAP_KPROBE_REGISTERED_H

#include <linux/kprobes.h>

#include "kprobe/kprobe.h"
#include "sites/mechanism.h"

struct djs_registered {
	struct kretprobe kretprobe; /* of a kprobe, only .kp is used */
	struct djs_site_run *run;
	struct kprobe guard; /* of a kretprobe: see kretprobe.c */
	bool guarded;
	bool switched_off; /* it had been armed, and was found not to be */
	bool forgotten;	   /* its module was unloaded: reused when the module is loaded again */
	bool verified;	   /* that the kernel armed it, and what the kernel turned it into */
};

_Static_assert(offsetof(struct kretprobe, kp) == 0, "a batch of kprobes has other pointers");

/* All probes of one kind. */
struct djs_registry {
	const char *rejected; /* what is said if the kernel does not take one */
	/* Of several at an address, the kernel calls the one registered last first. */
	bool latest_first;
	bool (*is_one)(const struct djs_site_run *run);
	/* True for sites that may be of this kind later: if conditions or modules arm them again.
	 */
	bool (*may_become_one)(const struct djs_site_run *run);
	/* Called before a site is attached, and may change its mechanism. NULL: nothing to check.
	 */
	void (*check)(struct djs_site_run *run);
	/* Fills in what belongs to the kind; run, address and flags are set. */
	void (*fill)(struct djs_registered *probe);
	/* Called before filled ones are registered: returns false, with a message, if memory does
	 * not suffice for what the kernel takes for them. NULL: it takes little. */
	bool (*has_memory)(const struct djs_registered *probes, u32 count);
	/* Called once for a probe that is armed. NULL: whatever the kernel made of it is right. */
	void (*verify)(struct djs_registered *probe);
	int (*register_one)(struct djs_registered *probe);
	void (*unregister_one)(struct djs_registered *probe);
	int (*register_batch)(void **batch, u32 count);
	void (*unregister_batch)(void **batch, u32 count);

	struct djs_registered *probes;
	void **batch;
	u32 count, room;  /* of both arrays */
	u32 switched_off; /* probes that had been armed and were found not to be */
	struct djs_misses forgotten_misses; /* of modules that were unloaded */
};

/* The operations of struct djs_mechanism_ops, for all sites of the kind; attach also enables those
 * that are wanted again. */
int djs_registry_attach(struct djs_registry *kind);
void djs_registry_disarm(struct djs_registry *kind);
void djs_registry_detach(struct djs_registry *kind);
void djs_registry_forget(struct djs_registry *kind, u32 image);
void djs_registry_free(struct djs_registry *kind);
/* Returns the hits that the kernel did not pass on, since the script was loaded. */
struct djs_misses djs_registry_missed(const struct djs_registry *kind);
/* Returns the hits of a probe that the kernel did not pass on. */
u64 djs_registered_missed(const struct djs_registered *probe);

#endif
