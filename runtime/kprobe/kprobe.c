// SPDX-License-Identifier: GPL-2.0-or-later
// kprobes: any instruction. The kernel turns a breakpoint into a jump by a rule that does not see
// jumps from elsewhere into the replaced bytes. It may therefore do so only where the compiler has
// proved that there are none (DJS_MECHANISM_KPROBE_JUMP). A post handler prevents it everywhere
// else.
#include <linux/delay.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "context/context.h"
#include "kprobe/kprobe.h"
#include "kprobe/registered.h"
#include "kprobe/same_code.h"

static DJS_HANDLER_CODE int kprobe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct djs_site *site =
	    container_of(kprobe, struct djs_registered, kretprobe.kp)->run->site;
	unsigned long ip = instruction_pointer(regs);

	/* ip points behind the breakpoint, but for the script and the unwinder the instruction has
	 * not run yet. */
	instruction_pointer_set(regs, (unsigned long)kprobe->addr);
	djs_run_handler(&djs_script.handlers[site->handler], site, regs);
	instruction_pointer_set(regs, ip);
	return 0;
}

DJS_HANDLER_CODE void djs_kprobe_after(struct kprobe *kprobe, struct pt_regs *regs,
				       unsigned long flags)
{
}

static bool wants_post_handler(const struct djs_site_run *run)
{
	/* without bytes to compare, nothing is proved about the instructions that the kernel has */
	bool may_jump = run->mechanism == DJS_MECHANISM_KPROBE_JUMP && run->site->code_bytes;

	return !may_jump && run->mechanism != DJS_MECHANISM_KPROBE_FTRACE &&
	       !djs_at_fentry_site(run);
}

/* Returns the mechanism that the kernel uses for one that is armed: an enum djs_mechanism. */
static u8 mechanism_now(const struct kprobe *kprobe)
{
	u8 byte;

	if (kprobe->flags & KPROBE_FLAG_FTRACE)
		return DJS_MECHANISM_KPROBE_FTRACE;
	return !copy_from_kernel_nofault(&byte, kprobe->addr, 1) && djs_is_jump(&byte)
		   ? DJS_MECHANISM_KPROBE_JUMP
		   : DJS_MECHANISM_KPROBE_INT3;
}

/* Optimization happens some ticks after the registration. */
#define OPTIMIZE_MS 1000

static void verify_kprobe(struct djs_registered *probe)
{
	struct djs_site_run *run = probe->run;
	const struct kprobe *kprobe = &probe->kretprobe.kp;
	u8 wanted = run->mechanism;
	u32 waited;

	if (wanted == DJS_MECHANISM_KPROBE_JUMP && run->site->code_bytes)
		for (waited = 0; waited < OPTIMIZE_MS && mechanism_now(kprobe) != wanted;
		     waited += 10)
			msleep(10);
	if (wanted == DJS_MECHANISM_KPROBE || mechanism_now(kprobe) == wanted) {
		run->mechanism = mechanism_now(kprobe);
		return;
	}
	if (!run->site->forced && wanted == DJS_MECHANISM_KPROBE_JUMP) {
		run->mechanism = mechanism_now(kprobe); /* slower, but equally correct */
		return;
	}
	djs_site_failed(
	    run, -EOPNOTSUPP,
	    mechanism_now(kprobe) == DJS_MECHANISM_KPROBE_FTRACE ? "the kernel uses ftrace there"
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

/* A djprobe that is armed again later may need a kprobe then. */
static bool may_become_kprobe(const struct djs_site_run *run)
{
	return djs_is_direct(run);
}

static void fill_kprobe(struct djs_registered *probe)
{
	const struct djs_handler *handler = &djs_script.handlers[probe->run->site->handler];
	struct kprobe *kprobe = &probe->kretprobe.kp;

	kprobe->pre_handler =
	    handler->by_regs ? (kprobe_pre_handler_t)(void *)handler->by_regs : kprobe_hit;
	kprobe->post_handler = wants_post_handler(probe->run) ? djs_kprobe_after : NULL;
}

static int register_one_kprobe(struct djs_registered *probe)
{
	return register_kprobe(&probe->kretprobe.kp);
}

static void unregister_one_kprobe(struct djs_registered *probe)
{
	unregister_kprobe(&probe->kretprobe.kp);
}

static int register_kprobe_batch(void **batch, u32 count)
{
	return register_kprobes((struct kprobe **)batch, count);
}

static void unregister_kprobe_batch(void **batch, u32 count)
{
	unregister_kprobes((struct kprobe **)batch, count);
}

static struct djs_registry kprobes = {
    .rejected = "the kernel rejects a kprobe at its address",
    .latest_first = true,
    .is_one = is_kprobe,
    .may_become_one = may_become_kprobe,
    .check = check_instructions,
    .fill = fill_kprobe,
    .verify = verify_kprobe,
    .register_one = register_one_kprobe,
    .unregister_one = unregister_one_kprobe,
    .register_batch = register_kprobe_batch,
    .unregister_batch = unregister_kprobe_batch,
};

static int kprobes_attach(void)
{
	return djs_registry_attach(&kprobes);
}

static void kprobes_disarm(void)
{
	djs_registry_disarm(&kprobes);
}

static void kprobes_detach(void)
{
	djs_registry_detach(&kprobes);
}

static void kprobes_forget(u32 image)
{
	djs_registry_forget(&kprobes, image);
}

struct djs_misses djs_kprobes_missed(void)
{
	return djs_registry_missed(&kprobes);
}

static u64 kprobe_missed(const struct djs_site_run *run)
{
	return djs_registered_missed(run->data);
}

static void kprobes_free(void)
{
	djs_registry_free(&kprobes);
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
