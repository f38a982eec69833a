// SPDX-License-Identifier: GPL-2.0-or-later
// kprobes: any instruction. The kernel turns a breakpoint into a jump by a rule that does not see
// jumps from elsewhere into the replaced bytes, so it may do so only where the compiler has proved
// that there are none (DJS_MECHANISM_KPROBE_JUMP). A post handler keeps it from doing so everywhere
// else.
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control/runtime.h"

struct djs_kprobe {
	struct kprobe kprobe;
	struct djs_site_run *run;
};
/* What was attached in one go: a domain's. */
struct kprobe_batch {
	struct list_head list;
	u32 count;
	struct kprobe **kprobes;
	struct djs_kprobe probes[];
};
static LIST_HEAD(kprobe_batches);
static u64 detached_missed; /* of those that are gone */

static DJS_HANDLER_CODE int kprobe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct djs_site *site = container_of(kprobe, struct djs_kprobe, kprobe)->run->site;
	unsigned long ip = regs->ip;

	/* It points behind the breakpoint: for the script, and for the unwinder, the instruction
	 * has not run. */
	regs->ip = (unsigned long)kprobe->addr;
	djs_run_handler(&djs_script.handlers[site->handler], site, regs);
	regs->ip = ip;
	return 0;
}

static DJS_HANDLER_CODE void kprobe_after(struct kprobe *kprobe, struct pt_regs *regs,
					  unsigned long flags)
{
}

static int first_byte(unsigned long address)
{
	u8 byte;

	return copy_from_kernel_nofault(&byte, (void *)address, 1) ? -1 : byte;
}

#define CALL_FIRST 0xe8
#define JUMP_FIRST 0xe9

/*
 * At a fentry site the kernel uses ftrace for a kprobe, and a post handler there is dangerous
 * (on 6.1 two kprobes, one with it, both removed: panic). A function whose first instruction is an
 * ordinary call is taken for one too: the kernel does not replace calls by jumps.
 */
bool djs_at_fentry_site(const struct djs_site_run *run)
{
	unsigned long entry = run->site->entry + djs_site_slide(run->site);
	static const u8 endbr[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const u8 nop5[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	unsigned long start = entry;
	u8 text[5];

	if (!copy_from_kernel_nofault(text, (void *)entry, 4) && !memcmp(text, endbr, 4))
		start += 4; /* a sealed endbr is a NOP of the same length, and is not skipped by the
			       kernel */
	if (run->probe != entry && run->probe != start && run->probe != entry + 4)
		return false;
	if (copy_from_kernel_nofault(text, (void *)run->probe, 5))
		return false;
	if (run->probe == entry && start != entry &&
	    copy_from_kernel_nofault(text, (void *)start, 5))
		return false;
	return text[0] == CALL_FIRST || !memcmp(text, nop5, 5);
}

static bool wants_post_handler(const struct djs_site_run *run)
{
	return run->mechanism != DJS_MECHANISM_KPROBE_JUMP &&
	       run->mechanism != DJS_MECHANISM_KPROBE_FTRACE && !djs_at_fentry_site(run);
}

/* What the kernel made of it: an enum djs_mechanism. */
static u8 mechanism_now(const struct djs_kprobe *probe)
{
	if (probe->kprobe.flags & KPROBE_FLAG_FTRACE)
		return DJS_MECHANISM_KPROBE_FTRACE;
	return first_byte((unsigned long)probe->kprobe.addr) == JUMP_FIRST
		   ? DJS_MECHANISM_KPROBE_JUMP
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
		run->mechanism = mechanism_now(probe); /* slower, and as right */
		return;
	}
	djs_site_failed(
	    run, -EOPNOTSUPP,
	    mechanism_now(probe) == DJS_MECHANISM_KPROBE_FTRACE ? "the kernel uses ftrace there"
	    : wanted == DJS_MECHANISM_KPROBE_JUMP ? "the kernel did not make it a jump"
						  : "the kernel uses a breakpoint there");
}

static bool is_kprobe(const struct djs_site_run *run, u32 domain)
{
	return run->mechanism >= DJS_MECHANISM_KPROBE &&
	       run->mechanism <= DJS_MECHANISM_KPROBE_FTRACE && djs_is_wanted(run, domain);
}

static void fill_kprobe(struct djs_kprobe *probe, struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	probe->run = run;
	probe->kprobe.addr = (kprobe_opcode_t *)run->probe;
	probe->kprobe.pre_handler =
	    handler->by_regs ? (kprobe_pre_handler_t)(void *)handler->by_regs : kprobe_hit;
	probe->kprobe.post_handler = wants_post_handler(run) ? kprobe_after : NULL;
}

static void attach_kprobes_singly(struct kprobe_batch *batch)
{
	u32 i;

	for (i = 0; i < batch->count; i++) {
		struct djs_kprobe *probe = &batch->probes[i];
		int error;

		/* A registration that failed leaves its marks in it. */
		memset(&probe->kprobe, 0, sizeof(probe->kprobe));
		fill_kprobe(probe, probe->run);
		error = register_kprobe(&probe->kprobe);
		if (error)
			djs_site_failed(probe->run, error,
					"the kernel refuses a kprobe at its address");
		else
			probe->run->armed = 1;
	}
}

static struct kprobe_batch *new_kprobe_batch(u32 planned)
{
	struct kprobe_batch *batch = kvzalloc(struct_size(batch, probes, planned), GFP_KERNEL);

	if (!batch)
		return NULL;
	batch->kprobes = kvcalloc(planned, sizeof(*batch->kprobes), GFP_KERNEL);
	if (batch->kprobes)
		return batch;
	kvfree(batch);
	return NULL;
}

int djs_kprobes_attach(u32 domain)
{
	struct kprobe_batch *batch;
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++)
		planned += is_kprobe(&djs_sites[i], domain);
	if (!planned)
		return 0;
	batch = new_kprobe_batch(planned);
	if (!batch)
		return -ENOMEM;
	/* From the last one: of several kprobes at an address the kernel calls the latest first. */
	for (i = djs_script.site_count; i-- > 0;) {
		struct djs_kprobe *probe = &batch->probes[batch->count];

		if (!is_kprobe(&djs_sites[i], domain))
			continue;
		fill_kprobe(probe, &djs_sites[i]);
		djs_sites[i].data = probe;
		batch->kprobes[batch->count++] = &probe->kprobe;
	}
	list_add_tail(&batch->list, &kprobe_batches);
	if (register_kprobes(batch->kprobes, batch->count)) {
		attach_kprobes_singly(batch); /* all are out again: learn which one it was */
	} else {
		for (i = 0; i < batch->count; i++)
			batch->probes[i].run->armed = 1;
	}
	for (i = 0; i < batch->count; i++)
		if (batch->probes[i].run->armed)
			verify_kprobe(&batch->probes[i]);
	return 0;
}

/* Whether a site still has this probe: not one that failed, or has been detached. */
static bool bears_kprobe(const struct djs_kprobe *probe)
{
	return probe->run->armed && probe->run->data == probe;
}

static void detach_kprobes_of(struct kprobe_batch *batch)
{
	u32 i, leaving = 0, staying = 0;

	for (i = 0; i < batch->count; i++) {
		if (!bears_kprobe(&batch->probes[i]))
			continue;
		if (batch->probes[i].run->leaving)
			batch->kprobes[leaving++] = &batch->probes[i].kprobe;
		else
			staying++;
	}
	if (leaving)
		unregister_kprobes(batch->kprobes, leaving);
	for (i = 0; i < batch->count; i++) {
		struct djs_kprobe *probe = &batch->probes[i];

		if (!bears_kprobe(probe) || !probe->run->leaving)
			continue;
		probe->run->missed += probe->kprobe.nmissed;
		detached_missed += probe->kprobe.nmissed;
		probe->run->armed = 0;
		probe->run->data = NULL;
	}
	if (staying)
		return;
	for (i = 0; i < batch->count; i++) /* those that could not be attached */
		if (batch->probes[i].run->data == &batch->probes[i])
			batch->probes[i].run->data = NULL;
	list_del(&batch->list);
	kvfree(batch->kprobes);
	kvfree(batch);
}

void djs_kprobes_detach(void)
{
	struct kprobe_batch *batch, *next;

	list_for_each_entry_safe(batch, next, &kprobe_batches, list) detach_kprobes_of(batch);
}

u64 djs_kprobes_missed(void)
{
	const struct kprobe_batch *batch;
	u64 missed = detached_missed;
	u32 i;

	list_for_each_entry (batch, &kprobe_batches, list)
		for (i = 0; i < batch->count; i++)
			if (bears_kprobe(&batch->probes[i]))
				missed += READ_ONCE(batch->probes[i].kprobe.nmissed);
	return missed;
}

u64 djs_kprobe_missed(const struct djs_site_run *run)
{
	return READ_ONCE(((struct djs_kprobe *)run->data)->kprobe.nmissed);
}
