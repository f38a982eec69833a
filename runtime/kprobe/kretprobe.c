// SPDX-License-Identifier: GPL-2.0-or-later
// kretprobes: function returns, wherever the function may sleep. Hits that find no free instance are missed,
// and counted.
#include <linux/mm.h>
#include <linux/slab.h>

#include "control/runtime.h"

struct djs_kretprobe {
	struct kretprobe kretprobe;
	struct djs_site_run *run;
};
static struct djs_kretprobe *probes;
static struct kretprobe **batch;
static u32 count;

static __always_inline const struct djs_site *site_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct djs_kretprobe, kretprobe)->run->site;
}

static __always_inline struct djs_ctx *enter(const struct djs_handler *handler, const struct djs_site *site,
					     struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (ctx) {
		ctx->regs = regs;
		ctx->saved = (u64 *)instance->data;
		ctx->address = site->address + djs_slide;
	}
	return ctx;
}

static __always_inline void leave(struct djs_ctx *ctx)
{
	ctx->regs = NULL;
	ctx->saved = NULL;
	djs_leave(ctx);
}

/* Not 0: the return of this call is of no interest. */
static DJS_HANDLER_CODE int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct djs_site *site = site_of(instance);
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx = enter(handler, site, instance, regs);
	int failed;

	if (!ctx)
		return 1;
	handler->entry(ctx);
	failed = ctx->error != NULL;
	leave(ctx);
	return failed;
}

static DJS_HANDLER_CODE int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct djs_site *site = site_of(instance);
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx = enter(handler, site, instance, regs);

	if (!ctx)
		return 0;
	ctx->return_value = regs_return_value(regs);
	handler->body(ctx);
	leave(ctx);
	return 0;
}

/* Enough for a few dozen tasks in the function at once; one that blocks many more needs .maxactive(N). */
static int default_instances(void)
{
	return max_t(int, 64, 16 * num_possible_cpus());
}

static void prepare(struct djs_kretprobe *probe, struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	probe->run = run;
	probe->kretprobe.kp.addr = (kprobe_opcode_t *)run->probe;
	probe->kretprobe.handler = returned;
	probe->kretprobe.entry_handler = handler->entry ? entered : NULL;
	probe->kretprobe.data_size = handler->saved * sizeof(u64);
	probe->kretprobe.maxactive = run->site->maxactive ?: default_instances();
}

static bool is_kretprobe(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_KRETPROBE && !run->error;
}

static void attach_each(void)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct djs_kretprobe *probe = &probes[i];
		int error;

		memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
		prepare(probe, probe->run);
		error = register_kretprobe(&probe->kretprobe);
		if (error)
			djs_site_failed(probe->run, error, "the kernel refuses a kretprobe at its address");
		else
			probe->run->armed = 1;
	}
}

int djs_kretprobes_attach(void)
{
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++)
		planned += is_kretprobe(&djs_sites[i]);
	if (!planned)
		return 0;
	probes = kvcalloc(planned, sizeof(*probes), GFP_KERNEL);
	batch = kvcalloc(planned, sizeof(*batch), GFP_KERNEL);
	if (!probes || !batch)
		return -ENOMEM;
	for (i = 0, count = 0; i < djs_script.site_count; i++) {
		if (!is_kretprobe(&djs_sites[i]))
			continue;
		prepare(&probes[count], &djs_sites[i]);
		djs_sites[i].data = &probes[count];
		batch[count] = &probes[count].kretprobe;
		count++;
	}
	if (register_kretprobes(batch, count)) {
		attach_each();
	} else {
		for (i = 0; i < count; i++)
			probes[i].run->armed = 1;
	}
	return 0;
}

void djs_kretprobes_detach(void)
{
	u32 i, armed = 0;

	for (i = 0; i < count; i++)
		if (probes[i].run->armed)
			batch[armed++] = &probes[i].kretprobe;
	if (armed)
		unregister_kretprobes(batch, armed);
	for (i = 0; i < count; i++)
		probes[i].run->armed = 0;
}

u64 djs_kretprobes_missed(void)
{
	u64 missed = 0;
	u32 i;

	for (i = 0; i < count; i++)
		missed += READ_ONCE(probes[i].kretprobe.nmissed);
	return missed;
}

u64 djs_kretprobe_missed(const struct djs_site_run *run)
{
	return READ_ONCE(((struct djs_kretprobe *)run->data)->kretprobe.nmissed);
}

void djs_kretprobes_free(void)
{
	kvfree(probes);
	kvfree(batch);
	probes = NULL;
	batch = NULL;
	count = 0;
}
