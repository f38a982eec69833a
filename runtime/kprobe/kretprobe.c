// SPDX-License-Identifier: GPL-2.0-or-later
// kretprobes: function returns, wherever the function may sleep. Hits that find no free instance
// are missed, and counted.
#include <linux/mm.h>
#include <linux/slab.h>

#include "kprobe/kprobe.h"

struct djs_kretprobe {
	struct kretprobe kretprobe;
	struct djs_site_run *run;
	bool forgotten; /* its module was unloaded: reused when the module is loaded again */
};
static struct djs_kretprobe *all_kretprobes;
static struct kretprobe **kretprobe_batch;
static u32 kretprobe_count;
static u64 forgotten_kretprobe_misses; /* of modules that were unloaded */

static __always_inline const struct djs_site *site_of_instance(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct djs_kretprobe, kretprobe)->run->site;
}

static __always_inline struct djs_ctx *enter_kretprobe(const struct djs_handler *handler,
						       const struct djs_site *site,
						       struct kretprobe_instance *instance,
						       struct pt_regs *regs)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (ctx) {
		ctx->regs = regs;
		ctx->saved = (u64 *)instance->data;
		ctx->address = site->address + djs_site_bias(site);
	}
	return ctx;
}

static __always_inline void leave_kretprobe(struct djs_ctx *ctx)
{
	ctx->regs = NULL;
	ctx->saved = NULL;
	ctx->returned = 0;
	djs_leave(ctx);
}

/* Nonzero: the return of this call is not probed. */
static DJS_HANDLER_CODE int kretprobe_entered(struct kretprobe_instance *instance,
					      struct pt_regs *regs)
{
	const struct djs_site *site = site_of_instance(instance);
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx = enter_kretprobe(handler, site, instance, regs);
	int failed;

	if (!ctx)
		return 1;
	handler->entry(ctx);
	failed = ctx->error != NULL;
	leave_kretprobe(ctx);
	return failed;
}

static DJS_HANDLER_CODE int kretprobe_returned(struct kretprobe_instance *instance,
					       struct pt_regs *regs)
{
	const struct djs_site *site = site_of_instance(instance);
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx = enter_kretprobe(handler, site, instance, regs);

	if (!ctx)
		return 0;
	ctx->returned = 1;
	ctx->return_value = regs_return_value(regs);
	handler->body(ctx);
	regs_set_return_value(regs, ctx->return_value); /* the handler may have changed it */
	leave_kretprobe(ctx);
	return 0;
}

/* Enough for a few dozen tasks in the function at once; a function that blocks many more needs
 * .maxactive(N). */
static int default_instances(void)
{
	return max_t(int, 64, 16 * num_possible_cpus());
}

static void fill_kretprobe(struct djs_kretprobe *probe, struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	probe->run = run;
	probe->kretprobe.kp.addr = (kprobe_opcode_t *)run->probe;
	probe->kretprobe.handler =
	    handler->by_regs ? (kretprobe_handler_t)(void *)handler->by_regs : kretprobe_returned;
	probe->kretprobe.entry_handler = handler->entry ? kretprobe_entered : NULL;
	probe->kretprobe.data_size = handler->saved * sizeof(u64);
	probe->kretprobe.maxactive = run->site->maxactive ?: default_instances();
	probe->kretprobe.kp.flags = run->wanted ? 0 : KPROBE_FLAG_DISABLED;
}

static bool is_kretprobe(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_KRETPROBE && !run->error;
}

static void attach_kretprobes_singly(u32 first)
{
	u32 i;

	for (i = first; i < kretprobe_count; i++) {
		struct djs_kretprobe *probe = &all_kretprobes[i];
		int error;

		memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
		fill_kretprobe(probe, probe->run);
		error = register_kretprobe(&probe->kretprobe);
		if (error)
			djs_site_failed(probe->run, error,
					"the kernel rejects a kretprobe at its address");
		else
			probe->run->armed = 1;
	}
}

static int make_kretprobe_room(void)
{
	u32 i, planned = 0;

	/* A return djprobe that is armed again later may need a kretprobe then. */
	for (i = 0; i < djs_script.site_count; i++)
		planned += is_kretprobe(&djs_sites[i]) ||
			   (djs_sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE &&
			    (djs_script.condition_count || djs_has_modules()));
	if (!planned || all_kretprobes)
		return 0;
	all_kretprobes = kvcalloc(planned, sizeof(*all_kretprobes), GFP_KERNEL);
	kretprobe_batch = kvcalloc(planned, sizeof(*kretprobe_batch), GFP_KERNEL);
	return all_kretprobes && kretprobe_batch ? 0 : -ENOMEM;
}

/* True: the site has a kretprobe from before its module was unloaded. */
static bool kretprobe_comes_back(struct djs_site_run *run)
{
	u32 i;

	for (i = 0; i < kretprobe_count; i++) {
		struct djs_kretprobe *probe = &all_kretprobes[i];
		int error;

		if (!probe->forgotten || probe->run != run)
			continue;
		memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
		fill_kretprobe(probe, run);
		probe->forgotten = false;
		run->data = probe;
		error = register_kretprobe(&probe->kretprobe);
		run->armed = !error;
		if (error)
			djs_site_failed(run, error,
					"the kernel rejects a kretprobe at its address");
		return true;
	}
	return false;
}

static void kretprobes_forget(u32 image)
{
	u32 i;

	for (i = 0; i < kretprobe_count; i++) {
		struct djs_kretprobe *probe = &all_kretprobes[i];
		struct djs_site_run *run = probe->run;

		if (run->image != image || run->data != probe)
			continue;
		run->data = NULL;
		if (!run->armed) {
			probe->forgotten = true;
		} else if (djs_kprobe_lets_go(&probe->kretprobe.kp)) {
			unregister_kretprobe(&probe->kretprobe);
			run->missed += probe->kretprobe.nmissed;
			forgotten_kretprobe_misses += probe->kretprobe.nmissed;
			probe->forgotten = true;
		}
		run->armed = 0;
	}
}

static int kretprobes_attach(void)
{
	u32 i, first = kretprobe_count;

	if (make_kretprobe_room())
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count; i++) {
		if (!is_kretprobe(&djs_sites[i]) || djs_sites[i].absent || djs_sites[i].data ||
		    djs_kprobe_refused(&djs_sites[i]) || kretprobe_comes_back(&djs_sites[i]))
			continue;
		fill_kretprobe(&all_kretprobes[kretprobe_count], &djs_sites[i]);
		djs_sites[i].data = &all_kretprobes[kretprobe_count];
		kretprobe_batch[kretprobe_count] = &all_kretprobes[kretprobe_count].kretprobe;
		kretprobe_count++;
	}
	if (first < kretprobe_count &&
	    register_kretprobes(kretprobe_batch + first, kretprobe_count - first))
		attach_kretprobes_singly(first);
	else
		for (i = first; i < kretprobe_count; i++)
			all_kretprobes[i].run->armed = 1;
	for (i = 0; i < first; i++)
		if (all_kretprobes[i].run->armed && all_kretprobes[i].run->wanted)
			djs_kprobe_follow(&all_kretprobes[i].kretprobe.kp, all_kretprobes[i].run);
	return 0;
}

static void kretprobes_disarm(void)
{
	u32 i;

	for (i = 0; i < kretprobe_count; i++)
		if (all_kretprobes[i].run->armed && !all_kretprobes[i].run->wanted)
			djs_kprobe_follow(&all_kretprobes[i].kretprobe.kp, all_kretprobes[i].run);
}

static void kretprobes_detach(void)
{
	u32 i, armed = 0;

	for (i = 0; i < kretprobe_count; i++)
		if (all_kretprobes[i].run->armed &&
		    djs_kprobe_lets_go(&all_kretprobes[i].kretprobe.kp))
			kretprobe_batch[armed++] = &all_kretprobes[i].kretprobe;
	if (armed)
		unregister_kretprobes(kretprobe_batch, armed);
	for (i = 0; i < kretprobe_count; i++)
		all_kretprobes[i].run->armed = 0;
}

u64 djs_kretprobes_missed(void)
{
	u64 missed = forgotten_kretprobe_misses;
	u32 i;

	for (i = 0; i < kretprobe_count; i++)
		if (!all_kretprobes[i].forgotten)
			missed += READ_ONCE(all_kretprobes[i].kretprobe.nmissed);
	return missed;
}

static u64 kretprobe_missed(const struct djs_site_run *run)
{
	return READ_ONCE(((struct djs_kretprobe *)run->data)->kretprobe.nmissed);
}

static void kretprobes_free(void)
{
	kvfree(all_kretprobes);
	kvfree(kretprobe_batch);
	all_kretprobes = NULL;
	kretprobe_batch = NULL;
	kretprobe_count = 0;
}

const struct djs_mechanism_ops djs_ops_kretprobe = {
    .attach = kretprobes_attach,
    .disarm = kretprobes_disarm,
    .detach = kretprobes_detach,
    .forget = kretprobes_forget,
    .missed = kretprobe_missed,
    .free = kretprobes_free,
};
