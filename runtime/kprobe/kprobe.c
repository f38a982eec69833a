// SPDX-License-Identifier: GPL-2.0-or-later
// kprobes: any instruction. The kernel turns a breakpoint into a jump by a rule that does not see
// jumps from elsewhere into the replaced bytes. It may therefore do so only where the compiler has
// proved that there are none (DJS_MECHANISM_KPROBE_JUMP). A post handler prevents it everywhere
// else.
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "context/context.h"
#include "kprobe/kprobe.h"
#include "kprobe/same_code.h"

struct djs_kprobe {
	struct kprobe kprobe;
	struct djs_site_run *run;
	bool forgotten; /* its module was unloaded: reused when the module is loaded again */
	bool verified;	/* what the kernel turned it into is known */
};
static struct djs_kprobe *all_kprobes;
static struct kprobe **kprobe_batch;
static u32 kprobe_count;
static u64 forgotten_kprobe_misses; /* of modules that were unloaded */

static DJS_HANDLER_CODE int kprobe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct djs_site *site = container_of(kprobe, struct djs_kprobe, kprobe)->run->site;
	unsigned long ip = instruction_pointer(regs);

	/* ip points behind the breakpoint, but for the script and the unwinder the instruction has
	 * not run yet. */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	djs_run_handler(&djs_script.handlers[site->handler], site, regs);
	instruction_pointer_set(regs, ip);
	return 0;
}

static DJS_HANDLER_CODE void kprobe_after(struct kprobe *kprobe, struct pt_regs *regs,
					  unsigned long flags)
{
}

static bool is_jump(unsigned long address)
{
	u8 byte;

	return !copy_from_kernel_nofault(&byte, (void *)address, 1) && djs_is_jump(&byte);
}

/*
 * At an fentry site the kernel uses ftrace for a kprobe, and a post handler is dangerous there (on
 * 6.1, two kprobes, one of them with a post handler, both removed: panic). A function whose first
 * instruction is an ordinary call is also treated as an fentry site: the kernel does not replace
 * calls with jumps.
 */
bool djs_at_fentry_site(const struct djs_site_run *run)
{
	unsigned long entry = djs_site_entry(run->site) + djs_site_bias(run->site);
	unsigned long start = entry;
	u8 text[DJS_CALL_BYTES];

	if (!copy_from_kernel_nofault(text, (void *)entry, DJS_LANDING_PAD_MAX))
		start += djs_landing_pad(text); /* the kernel does not skip a sealed one */
	if (run->probe != entry && run->probe != start && run->probe != entry + DJS_LANDING_PAD_MAX)
		return false;
	if (copy_from_kernel_nofault(text, (void *)run->probe, sizeof(text)))
		return false;
	if (run->probe == entry && start != entry &&
	    copy_from_kernel_nofault(text, (void *)start, sizeof(text)))
		return false;
	return djs_is_call(text) || djs_is_no_op(text);
}

static bool wants_post_handler(const struct djs_site_run *run)
{
	return run->mechanism != DJS_MECHANISM_KPROBE_JUMP &&
	       run->mechanism != DJS_MECHANISM_KPROBE_FTRACE && !djs_at_fentry_site(run);
}

/* Returns the mechanism that the kernel uses for it: an enum djs_mechanism. */
static u8 mechanism_now(const struct djs_kprobe *probe)
{
	if (probe->kprobe.flags & KPROBE_FLAG_FTRACE)
		return DJS_MECHANISM_KPROBE_FTRACE;
	return is_jump((unsigned long)probe->kprobe.addr) ? DJS_MECHANISM_KPROBE_JUMP
							  : DJS_MECHANISM_KPROBE_INT3;
}

/* Optimization happens some ticks after the registration. */
#define OPTIMIZE_MS 1000

static void verify_kprobe(struct djs_kprobe *probe)
{
	struct djs_site_run *run = probe->run;
	u8 wanted = run->mechanism;
	u32 waited;

	if (wanted == DJS_MECHANISM_KPROBE_JUMP)
		for (waited = 0; waited < OPTIMIZE_MS && mechanism_now(probe) != wanted;
		     waited += 10)
			msleep(10);
	if (wanted == DJS_MECHANISM_KPROBE || mechanism_now(probe) == wanted) {
		run->mechanism = mechanism_now(probe);
		return;
	}
	if (!run->site->forced && wanted == DJS_MECHANISM_KPROBE_JUMP) {
		run->mechanism = mechanism_now(probe); /* slower, but equally correct */
		return;
	}
	djs_site_failed(
	    run, -EOPNOTSUPP,
	    mechanism_now(probe) == DJS_MECHANISM_KPROBE_FTRACE ? "the kernel uses ftrace there"
	    : wanted == DJS_MECHANISM_KPROBE_JUMP ? "the kernel did not optimize it into a jump"
						  : "the kernel uses a breakpoint there");
}

static bool is_kprobe(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_IS_KPROBE) && !run->error;
}

/* The kernel replaces instructions at boot and while it runs; the compiler's verdict is only about
 * those of its file. */
static bool has_its_instructions(const struct djs_site_run *run)
{
	const u8 *file = (const u8 *)djs_script.site_texts + run->site->code;
	u32 bytes = run->site->code_bytes / 2; /* the other half tells which of them are known */
	u8 text[DJS_REPLACED_MAX];

	return bytes <= sizeof(text) &&
	       !copy_from_kernel_nofault(text, (void *)run->probe, bytes) &&
	       djs_same_code(text, file, file + bytes, bytes, (u32)djs_site_bias(run->site));
}

static void check_instructions(struct djs_site_run *run)
{
	if (run->mechanism != DJS_MECHANISM_KPROBE_JUMP || !run->site->code_bytes ||
	    has_its_instructions(run))
		return;
	if (run->site->forced)
		djs_site_failed(run, -EILSEQ,
				"the kernel has other instructions there than its file, or a probe "
				"already: whether a jump is safe is unknown");
	else
		run->mechanism = DJS_MECHANISM_KPROBE_INT3;
}

static void fill_kprobe(struct djs_kprobe *probe, struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	probe->run = run;
	probe->kprobe.addr = (kprobe_opcode_t *)run->probe;
	probe->kprobe.pre_handler =
	    handler->by_regs ? (kprobe_pre_handler_t)(void *)handler->by_regs : kprobe_hit;
	probe->kprobe.post_handler = wants_post_handler(run) ? kprobe_after : NULL;
	probe->kprobe.flags = run->wanted ? 0 : KPROBE_FLAG_DISABLED;
}

static void attach_kprobes_singly(u32 first)
{
	u32 i;

	for (i = first; i < kprobe_count; i++) {
		struct djs_kprobe *probe = &all_kprobes[i];
		int error;

		/* A failed registration leaves flags in it. */
		memset(&probe->kprobe, 0, sizeof(probe->kprobe));
		fill_kprobe(probe, probe->run);
		error = register_kprobe(&probe->kprobe);
		if (error)
			djs_site_failed(probe->run, error,
					"the kernel rejects a kprobe at its address");
		else
			probe->run->armed = 1;
	}
}

void djs_kprobe_follow(struct kprobe *kprobe, const struct djs_site_run *run)
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

/* Unregistering tries the same, but reports failures less precisely. */
bool djs_kprobe_lets_go(struct kprobe *kprobe)
{
	/* Not even tried if the kernel would emit a warning. */
	int error = djs_ftrace_dead && kprobe_ftrace(kprobe) ? -ENODEV : disable_kprobe(kprobe);

	if (error)
		djs_pin(1, error);
	return !error;
}

static int make_kprobe_room(void)
{
	u32 i, planned = 0;

	/* A djprobe that is armed again later may need a kprobe then. */
	for (i = 0; i < djs_script.site_count; i++)
		planned +=
		    is_kprobe(&djs_sites[i]) || (djs_is_direct(&djs_sites[i]) &&
						 (djs_script.condition_count || djs_has_modules()));
	if (!planned || all_kprobes)
		return 0;
	all_kprobes = kvcalloc(planned, sizeof(*all_kprobes), GFP_KERNEL);
	kprobe_batch = kvcalloc(planned, sizeof(*kprobe_batch), GFP_KERNEL);
	return all_kprobes && kprobe_batch ? 0 : -ENOMEM;
}

static void register_kprobes_from(u32 first)
{
	u32 i;

	if (first == kprobe_count)
		return;
	if (register_kprobes(kprobe_batch + first, kprobe_count - first)) {
		/* all are unregistered again: find out which one failed */
		attach_kprobes_singly(first);
	} else {
		for (i = first; i < kprobe_count; i++)
			all_kprobes[i].run->armed = 1;
	}
}

/* True: the site has a kprobe from before its module was unloaded. */
static bool kprobe_comes_back(struct djs_site_run *run)
{
	u32 i;

	for (i = 0; i < kprobe_count; i++) {
		struct djs_kprobe *probe = &all_kprobes[i];
		int error;

		if (!probe->forgotten || probe->run != run)
			continue;
		memset(&probe->kprobe, 0, sizeof(probe->kprobe));
		fill_kprobe(probe, run);
		probe->forgotten = false;
		run->data = probe;
		error = register_kprobe(&probe->kprobe);
		run->armed = !error;
		if (error)
			djs_site_failed(run, error, "the kernel rejects a kprobe at its address");
		return true;
	}
	return false;
}

static void kprobes_forget(u32 image)
{
	u32 i;

	for (i = 0; i < kprobe_count; i++) {
		struct djs_kprobe *probe = &all_kprobes[i];
		struct djs_site_run *run = probe->run;

		if (run->image != image || run->data != probe)
			continue;
		run->data = NULL;
		if (!run->armed) {
			probe->forgotten = true;
		} else if (djs_kprobe_lets_go(&probe->kprobe)) {
			unregister_kprobe(&probe->kprobe);
			run->missed += probe->kprobe.nmissed;
			forgotten_kprobe_misses += probe->kprobe.nmissed;
			probe->forgotten = true;
		}
		run->armed = 0;
	}
}

static int kprobes_attach(void)
{
	u32 i, first = kprobe_count;

	if (make_kprobe_room())
		return -ENOMEM;
	/*
	 * Starts with the last one: of several kprobes at an address, the kernel calls the latest
	 * first.
	 */
	for (i = djs_script.site_count; i-- > 0;) {
		if (!djs_sites[i].data && !djs_sites[i].absent && !djs_sites[i].error)
			check_instructions(&djs_sites[i]);
		if (!is_kprobe(&djs_sites[i]) || djs_sites[i].absent || djs_sites[i].data ||
		    djs_kprobe_refused(&djs_sites[i]) || kprobe_comes_back(&djs_sites[i]))
			continue;
		fill_kprobe(&all_kprobes[kprobe_count], &djs_sites[i]);
		djs_sites[i].data = &all_kprobes[kprobe_count];
		kprobe_batch[kprobe_count] = &all_kprobes[kprobe_count].kprobe;
		kprobe_count++;
	}
	register_kprobes_from(first);
	for (i = 0; i < kprobe_count; i++) {
		struct djs_kprobe *probe = &all_kprobes[i];

		if (!probe->run->armed)
			continue;
		if (probe->run->wanted)
			djs_kprobe_follow(&probe->kprobe, probe->run);
		if (!probe->verified && !kprobe_disabled(&probe->kprobe)) {
			probe->verified = true;
			verify_kprobe(probe);
		}
	}
	return 0;
}

static void kprobes_disarm(void)
{
	u32 i;

	for (i = 0; i < kprobe_count; i++)
		if (all_kprobes[i].run->armed && !all_kprobes[i].run->wanted)
			djs_kprobe_follow(&all_kprobes[i].kprobe, all_kprobes[i].run);
}

static void kprobes_detach(void)
{
	u32 i, armed = 0;

	for (i = 0; i < kprobe_count; i++)
		if (all_kprobes[i].run->armed && djs_kprobe_lets_go(&all_kprobes[i].kprobe))
			kprobe_batch[armed++] = &all_kprobes[i].kprobe;
	if (armed)
		unregister_kprobes(kprobe_batch, armed);
	for (i = 0; i < kprobe_count; i++)
		all_kprobes[i].run->armed = 0;
}

u64 djs_kprobes_missed(void)
{
	u64 missed = forgotten_kprobe_misses;
	u32 i;

	for (i = 0; i < kprobe_count; i++)
		if (!all_kprobes[i].forgotten)
			missed += READ_ONCE(all_kprobes[i].kprobe.nmissed);
	return missed;
}

static u64 kprobe_missed(const struct djs_site_run *run)
{
	return READ_ONCE(((struct djs_kprobe *)run->data)->kprobe.nmissed);
}

static void kprobes_free(void)
{
	kvfree(all_kprobes);
	kvfree(kprobe_batch);
	all_kprobes = NULL;
	kprobe_batch = NULL;
	kprobe_count = 0;
}

const struct djs_mechanism_ops djs_ops_kprobe = {
    .attach = kprobes_attach,
    .disarm = kprobes_disarm,
    .detach = kprobes_detach,
    .forget = kprobes_forget,
    .missed = kprobe_missed,
    .free = kprobes_free,
    .keeps_ftrace = true,
};
