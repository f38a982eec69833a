// SPDX-License-Identifier: GPL-2.0-or-later
// kretprobes: function returns, wherever the function may sleep. Hits that find no free instance
// are missed, and counted.
#include <linux/mm.h>
#include <linux/slab.h>

#include "control/runtime.h"

struct djs_kretprobe {
	struct kretprobe kretprobe;
	struct djs_site_run *run;
};
/* What was attached in one go: a domain's. */
struct kretprobe_batch {
	struct list_head list;
	u32 count;
	struct kretprobe **kretprobes;
	struct djs_kretprobe probes[];
};
static LIST_HEAD(kretprobe_batches);
static u64 detached_missed_returns; /* of those that are gone */

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
		ctx->address = site->address + djs_site_slide(site);
	}
	return ctx;
}

static __always_inline void leave_kretprobe(struct djs_ctx *ctx)
{
	ctx->regs = NULL;
	ctx->saved = NULL;
	djs_leave(ctx);
}

/* Not 0: the return of this call is of no interest. */
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
	ctx->return_value = regs_return_value(regs);
	handler->body(ctx);
	leave_kretprobe(ctx);
	return 0;
}

/* Enough for a few dozen tasks in the function at once; one that blocks many more needs
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
}

static bool is_kretprobe(const struct djs_site_run *run, u32 domain)
{
	return run->mechanism == DJS_MECHANISM_KRETPROBE && djs_is_wanted(run, domain);
}

static void attach_kretprobes_singly(struct kretprobe_batch *batch)
{
	u32 i;

	for (i = 0; i < batch->count; i++) {
		struct djs_kretprobe *probe = &batch->probes[i];
		int error;

		memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
		fill_kretprobe(probe, probe->run);
		error = register_kretprobe(&probe->kretprobe);
		if (error)
			djs_site_failed(probe->run, error,
					"the kernel refuses a kretprobe at its address");
		else
			probe->run->armed = 1;
	}
}

static struct kretprobe_batch *new_kretprobe_batch(u32 planned)
{
	struct kretprobe_batch *batch = kvzalloc(struct_size(batch, probes, planned), GFP_KERNEL);

	if (!batch)
		return NULL;
	batch->kretprobes = kvcalloc(planned, sizeof(*batch->kretprobes), GFP_KERNEL);
	if (batch->kretprobes)
		return batch;
	kvfree(batch);
	return NULL;
}

int djs_kretprobes_attach(u32 domain)
{
	struct kretprobe_batch *batch;
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++)
		planned += is_kretprobe(&djs_sites[i], domain);
	if (!planned)
		return 0;
	batch = new_kretprobe_batch(planned);
	if (!batch)
		return -ENOMEM;
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_kretprobe *probe = &batch->probes[batch->count];

		if (!is_kretprobe(&djs_sites[i], domain))
			continue;
		fill_kretprobe(probe, &djs_sites[i]);
		djs_sites[i].data = probe;
		batch->kretprobes[batch->count++] = &probe->kretprobe;
	}
	list_add_tail(&batch->list, &kretprobe_batches);
	if (register_kretprobes(batch->kretprobes, batch->count)) {
		attach_kretprobes_singly(batch);
	} else {
		for (i = 0; i < batch->count; i++)
			batch->probes[i].run->armed = 1;
	}
	return 0;
}

/* Whether a site still has this probe: not one that failed, or has been detached. */
static bool bears_kretprobe(const struct djs_kretprobe *probe)
{
	return probe->run->armed && probe->run->data == probe;
}

static void detach_kretprobes_of(struct kretprobe_batch *batch)
{
	u32 i, leaving = 0, staying = 0;

	for (i = 0; i < batch->count; i++) {
		if (!bears_kretprobe(&batch->probes[i]))
			continue;
		if (batch->probes[i].run->leaving)
			batch->kretprobes[leaving++] = &batch->probes[i].kretprobe;
		else
			staying++;
	}
	if (leaving)
		unregister_kretprobes(batch->kretprobes, leaving);
	for (i = 0; i < batch->count; i++) {
		struct djs_kretprobe *probe = &batch->probes[i];

		if (!bears_kretprobe(probe) || !probe->run->leaving)
			continue;
		probe->run->missed += probe->kretprobe.nmissed;
		detached_missed_returns += probe->kretprobe.nmissed;
		probe->run->armed = 0;
		probe->run->data = NULL;
	}
	if (staying)
		return;
	for (i = 0; i < batch->count; i++) /* those that could not be attached */
		if (batch->probes[i].run->data == &batch->probes[i])
			batch->probes[i].run->data = NULL;
	list_del(&batch->list);
	kvfree(batch->kretprobes);
	kvfree(batch);
}

void djs_kretprobes_detach(void)
{
	struct kretprobe_batch *batch, *next;

	list_for_each_entry_safe(batch, next, &kretprobe_batches, list) detach_kretprobes_of(batch);
}

u64 djs_kretprobes_missed(void)
{
	const struct kretprobe_batch *batch;
	u64 missed = detached_missed_returns;
	u32 i;

	list_for_each_entry (batch, &kretprobe_batches, list)
		for (i = 0; i < batch->count; i++)
			if (bears_kretprobe(&batch->probes[i]))
				missed += READ_ONCE(batch->probes[i].kretprobe.nmissed);
	return missed;
}

u64 djs_kretprobe_missed(const struct djs_site_run *run)
{
	return READ_ONCE(((struct djs_kretprobe *)run->data)->kretprobe.nmissed);
}
