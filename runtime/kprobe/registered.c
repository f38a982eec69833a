// SPDX-License-Identifier: GPL-2.0-or-later
#include "kprobe/registered.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"

/* False if hits do not reach it, although it is enabled: kprobes can be switched off as a whole
 * (debugfs), and the kernel takes new ones nevertheless. */
static bool is_armed(const struct kprobe *kprobe)
{
	u8 byte;

	if (copy_from_kernel_nofault(&byte, kprobe->addr, 1))
		return false;
	/* also while ftrace, or the kernel's optimizer, writes there */
	return djs_is_breakpoint(&byte) ||
	       (kprobe->flags & KPROBE_FLAG_FTRACE ? djs_is_call(&byte) : djs_is_jump(&byte));
}

/* Of a probe that is about to be disabled. */
static void note_switched_off(struct djs_registry *kind, struct djs_registered *probe)
{
	if (djs_ftrace_dead || !probe->verified || probe->switched_off || probe->run->error ||
	    is_armed(&probe->kretprobe.kp))
		return;
	probe->switched_off = true;
	kind->switched_off++;
}

/* Enables or disables a registered probe, depending on whether its site is wanted. */
static void follow(struct kprobe *kprobe, const struct djs_site_run *run)
{
	int error = 0;

	if (run->wanted && kprobe_disabled(kprobe))
		error = enable_kprobe(kprobe);
	else if (!run->wanted && !kprobe_disabled(kprobe))
		error = disable_kprobe(kprobe);
	if (error)
		djs_warning("cannot %s the kprobe at %s (error %d)",
			    run->wanted ? "enable" : "disable", djs_site_shown(run->site), error);
}

/* True if a probe can be unregistered: it is now disabled. Otherwise it stays registered, and the
 * module is pinned. Unregistering tries the same, but reports failures less precisely. */
static bool lets_go(struct kprobe *kprobe)
{
	/* Not even tried if the kernel would emit a warning. */
	int error = djs_ftrace_dead && kprobe_ftrace(kprobe) ? -ENODEV : disable_kprobe(kprobe);

	if (error)
		djs_pin(1, error);
	return !error;
}

static int make_registry_room(struct djs_registry *kind)
{
	bool again = djs_sites_come_back();
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++)
		planned +=
		    kind->is_one(&djs_sites[i]) || (again && kind->may_become_one(&djs_sites[i]));
	if (!planned || kind->probes)
		return 0;
	kind->probes = kvcalloc(planned, sizeof(*kind->probes), GFP_KERNEL);
	kind->batch = kvcalloc(planned, sizeof(*kind->batch), GFP_KERNEL);
	kind->room = planned;
	return kind->probes && kind->batch ? 0 : -ENOMEM;
}

/* A failed registration leaves flags in the kernel's part, which therefore begins as zeros. */
static void fill_registered(const struct djs_registry *kind, struct djs_registered *probe,
			    struct djs_site_run *run)
{
	memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
	probe->run = run;
	probe->kretprobe.kp.addr = (kprobe_opcode_t *)run->probe;
	probe->kretprobe.kp.flags = run->wanted ? 0 : KPROBE_FLAG_DISABLED;
	kind->fill(probe);
}

static void take_back(struct djs_registry *kind, u32 first)
{
	while (kind->count > first)
		kind->probes[--kind->count].run->data = NULL;
}

static void register_filled(const struct djs_registry *kind, struct djs_registered *probe)
{
	int error = kind->register_one(probe);

	probe->run->armed = !error;
	if (error)
		djs_site_failed(probe->run, error, kind->rejected);
}

static void register_from(const struct djs_registry *kind, u32 first)
{
	u32 i;

	if (first == kind->count)
		return;
	if (!kind->register_batch(kind->batch + first, kind->count - first)) {
		for (i = first; i < kind->count; i++)
			kind->probes[i].run->armed = 1;
		return;
	}
	/* all are unregistered again: find out which one failed */
	for (i = first; i < kind->count; i++) {
		fill_registered(kind, &kind->probes[i], kind->probes[i].run);
		register_filled(kind, &kind->probes[i]);
	}
}

/* True: the site has a probe from before its module was unloaded. */
static bool comes_back(const struct djs_registry *kind, struct djs_site_run *run)
{
	u32 i;

	for (i = 0; i < kind->count; i++) {
		struct djs_registered *probe = &kind->probes[i];

		if (!probe->forgotten || probe->run != run)
			continue;
		fill_registered(kind, probe, run);
		probe->forgotten = false;
		run->data = probe;
		register_filled(kind, probe);
		return true;
	}
	return false;
}

static void follow_wanted(struct djs_registry *kind, bool wanted)
{
	u32 i;

	for (i = 0; i < kind->count; i++) {
		struct djs_registered *probe = &kind->probes[i];

		if (!probe->run->armed || !!probe->run->wanted != wanted)
			continue;
		if (!wanted && !kprobe_disabled(&probe->kretprobe.kp))
			note_switched_off(kind, probe);
		follow(&probe->kretprobe.kp, probe->run);
	}
}

static void verify_armed(const struct djs_registry *kind)
{
	u32 i;

	for (i = 0; i < kind->count; i++) {
		struct djs_registered *probe = &kind->probes[i];

		if (!probe->run->armed || probe->verified || probe->run->error ||
		    kprobe_disabled(&probe->kretprobe.kp))
			continue;
		probe->verified = true;
		if (!is_armed(&probe->kretprobe.kp))
			djs_site_failed(probe->run, -EPERM,
					"kprobes are switched off (kprobes/enabled in debugfs)");
		else if (kind->verify)
			kind->verify(probe);
	}
}

int djs_registry_attach(struct djs_registry *kind)
{
	u32 i, first = kind->count, sites = djs_script.site_count;

	if (make_registry_room(kind))
		return -ENOMEM;
	for (i = 0; i < sites; i++) {
		/* Handlers of an address run in the order of the script. */
		struct djs_site_run *run = &djs_sites[kind->latest_first ? sites - 1 - i : i];
		struct djs_registered *probe;

		if (run->data || run->absent || run->error)
			continue;
		if (kind->check)
			kind->check(run);
		if (!kind->is_one(run) || djs_kprobe_refused(run) || comes_back(kind, run))
			continue;
		if (kind->count == kind->room) {
			/* the probe from before its module was unloaded could not be removed */
			djs_site_failed(run, -ENOSPC, "its former probe is still registered");
			continue;
		}
		probe = &kind->probes[kind->count];
		fill_registered(kind, probe, run);
		run->data = probe;
		kind->batch[kind->count++] = &probe->kretprobe;
	}
	if (kind->has_memory && !kind->has_memory(kind->probes + first, kind->count - first)) {
		take_back(kind, first);
		return -ENOMEM;
	}
	register_from(kind, first);
	follow_wanted(kind, true);
	verify_armed(kind);
	return 0;
}

void djs_registry_disarm(struct djs_registry *kind)
{
	follow_wanted(kind, false);
}

void djs_registry_detach(struct djs_registry *kind)
{
	u32 i, armed = 0;

	for (i = 0; i < kind->count; i++) {
		struct djs_registered *probe = &kind->probes[i];

		if (!probe->run->armed)
			continue;
		if (!kprobe_disabled(&probe->kretprobe.kp))
			note_switched_off(kind, probe);
		if (lets_go(&probe->kretprobe.kp))
			kind->batch[armed++] = &probe->kretprobe;
	}
	if (kind->switched_off)
		djs_session_message(DJS_RECORD_WARNING,
				    "kprobes were switched off (kprobes/enabled in debugfs): %u "
				    "probe%s missed hits that nobody counted",
				    kind->switched_off, kind->switched_off == 1 ? "" : "s");
	kind->switched_off = 0;
	if (armed)
		kind->unregister_batch(kind->batch, armed);
	for (i = 0; i < kind->count; i++)
		kind->probes[i].run->armed = 0;
}

/* The kernel counts a call that finds another kprobe handled at the entry, before it looks for an
 * instance of the kretprobe. A kprobe has none to look for. */
static void add_misses(struct djs_misses *sum, const struct djs_registered *probe)
{
	sum->nested += READ_ONCE(probe->kretprobe.kp.nmissed);
	sum->without_instance += READ_ONCE(probe->kretprobe.nmissed);
}

void djs_registry_forget(struct djs_registry *kind, u32 image)
{
	u32 i;

	for (i = 0; i < kind->count; i++) {
		struct djs_registered *probe = &kind->probes[i];
		struct djs_site_run *run = probe->run;

		if (run->image != image || run->data != probe)
			continue;
		run->data = NULL;
		if (!run->armed) {
			probe->forgotten = true;
		} else if (lets_go(&probe->kretprobe.kp)) {
			kind->unregister_one(probe);
			run->missed += djs_registered_missed(probe);
			add_misses(&kind->forgotten_misses, probe);
			probe->forgotten = true;
		}
		run->armed = 0;
	}
}

struct djs_misses djs_registry_missed(const struct djs_registry *kind)
{
	struct djs_misses missed = kind->forgotten_misses;
	u32 i;

	for (i = 0; i < kind->count; i++)
		if (!kind->probes[i].forgotten)
			add_misses(&missed, &kind->probes[i]);
	return missed;
}

u64 djs_registered_missed(const struct djs_registered *probe)
{
	struct djs_misses missed = {};

	add_misses(&missed, probe);
	return missed.nested + missed.without_instance;
}

void djs_registry_free(struct djs_registry *kind)
{
	kvfree(kind->probes);
	kvfree(kind->batch);
	kind->probes = NULL;
	kind->batch = NULL;
	kind->count = kind->room = 0;
}
