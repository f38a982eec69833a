// SPDX-License-Identifier: GPL-2.0-or-later
// kretprobes: function returns, wherever the function may sleep. Hits that find no free instance
// are missed, and counted.
#include <linux/rethook.h>
#include <linux/sched.h>

#include "cpu/memory.h"
#include "kprobe/kprobe.h"
#include "kprobe/registered.h"

/* Returns of one task that are probed at the same time, and looked at. */
#define HOOKED_MAX 1024

static __always_inline const struct djs_site *site_of_instance(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct djs_registered, kretprobe)->run->site;
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

/* Of several kretprobes of a function, each finds what the one before it has put there: the
 * earliest has what the function's caller had. The task alone changes its list. */
DJS_HANDLER_CODE u64 djs_replaced_return(u64 slot)
{
	u64 original = *(const unsigned long *)slot;
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	const struct llist_node *at;
	u32 i = 0;

	for (at = READ_ONCE(current->rethooks.first); at && i < HOOKED_MAX;
	     at = READ_ONCE(at->next), i++) {
		const struct rethook_node *node = container_of(at, struct rethook_node, llist);

		if (node->frame == slot)
			original = node->ret_addr;
	}
#endif
	return original;
}

/* Enough for a few dozen tasks in the function at once; a function that blocks many more needs
 * .maxactive(N). */
static int default_instances(void)
{
	return max_t(int, 64, 16 * num_possible_cpus());
}

static bool is_kretprobe(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_KRETPROBE && !run->error;
}

/* A return djprobe that is armed again later may need a kretprobe then. */
static bool may_become_kretprobe(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_RETURN_DJPROBE;
}

static void fill_kretprobe(struct djs_registered *probe)
{
	const struct djs_site *site = probe->run->site;
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct kretprobe *kretprobe = &probe->kretprobe;

	kretprobe->handler =
	    handler->by_regs ? (kretprobe_handler_t)(void *)handler->by_regs : kretprobe_returned;
	kretprobe->entry_handler = handler->entry ? kretprobe_entered : NULL;
	kretprobe->data_size = handler->saved * sizeof(u64);
	kretprobe->maxactive = site->maxactive ?: default_instances();
}

/* As many as it may have at once, each by itself or as part of a CPU's; in the latter case, each
 * CPU has a table with room for all of them. */
static u64 bytes_of_instances(const struct djs_registered *probe)
{
	const struct kretprobe *kretprobe = &probe->kretprobe;
	const u64 size = sizeof(struct kretprobe_instance) + kretprobe->data_size;
#ifdef DJS_HAVE_RETHOOK_POOL
	const u64 instances = DIV_ROUND_UP(kretprobe->maxactive, num_possible_cpus());
	const u64 table = roundup_pow_of_two(kretprobe->maxactive) * sizeof(void *);

	return num_possible_cpus() * PAGE_ALIGN(table + instances * size);
#else
	return kretprobe->maxactive * roundup_pow_of_two(size);
#endif
}

/* The kernel limits the instances of one kretprobe, but not those of all. */
static bool has_memory_for_instances(const struct djs_registered *probes, u32 count)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < count; i++)
		bytes += bytes_of_instances(&probes[i]);
	if (djs_memory_allows(bytes))
		return true;
	djs_session_message(DJS_RECORD_WARNING,
			    "too little memory for the instances of %u kretprobes (%llu MB): use a "
			    "smaller .maxactive(N) or KRETACTIVE, or probe fewer functions",
			    count, bytes >> 20);
	return false;
}

/* As of other kprobes, the kernel must not make a jump of a kretprobe (kprobe.c). It takes a post
 * handler, which prevents that, from a kprobe only: one at the same address, which is never
 * enabled. At an fentry site there is no jump. */
static int add_guard(struct djs_registered *probe)
{
	int error;

	probe->guarded = false;
	if (djs_at_fentry_site(probe->run))
		return 0;
	memset(&probe->guard, 0, sizeof(probe->guard));
	probe->guard.addr = (kprobe_opcode_t *)probe->run->probe;
	probe->guard.flags = KPROBE_FLAG_DISABLED;
	probe->guard.post_handler = djs_kprobe_after;
	error = register_kprobe(&probe->guard);
	probe->guarded = !error;
	return error;
}

static void end_guard(struct djs_registered *probe)
{
	if (probe->guarded)
		unregister_kprobe(&probe->guard);
	probe->guarded = false;
}

static int register_one_kretprobe(struct djs_registered *probe)
{
	int error = add_guard(probe);

	if (error)
		return error;
	error = register_kretprobe(&probe->kretprobe);
	if (error)
		end_guard(probe);
	return error;
}

static void unregister_one_kretprobe(struct djs_registered *probe)
{
	unregister_kretprobe(&probe->kretprobe);
	end_guard(probe);
}

/* The batch then contains the guards, for which the kernel waits once. */
static void unregister_kretprobe_batch(void **batch, u32 count)
{
	u32 i, guards = 0;

	unregister_kretprobes((struct kretprobe **)batch, count);
	for (i = 0; i < count; i++) {
		struct djs_registered *probe =
		    container_of((struct kretprobe *)batch[i], struct djs_registered, kretprobe);

		if (probe->guarded)
			batch[guards++] = &probe->guard;
		probe->guarded = false;
	}
	if (guards)
		unregister_kprobes((struct kprobe **)batch, guards);
}

static int register_kretprobe_batch(void **batch, u32 count)
{
	int error;
	u32 i;

	for (i = 0; i < count; i++) {
		error = register_one_kretprobe(
		    container_of((struct kretprobe *)batch[i], struct djs_registered, kretprobe));
		if (error) {
			if (i)
				unregister_kretprobe_batch(batch, i);
			return error;
		}
	}
	return 0;
}

static struct djs_registry kretprobes = {
    .rejected = "the kernel rejects a kretprobe at its address",
    .is_one = is_kretprobe,
    .may_become_one = may_become_kretprobe,
    .fill = fill_kretprobe,
    .has_memory = has_memory_for_instances,
    .register_one = register_one_kretprobe,
    .unregister_one = unregister_one_kretprobe,
    .register_batch = register_kretprobe_batch,
    .unregister_batch = unregister_kretprobe_batch,
};

static int kretprobes_attach(void)
{
	return djs_registry_attach(&kretprobes);
}

static void kretprobes_disarm(void)
{
	djs_registry_disarm(&kretprobes);
}

static void kretprobes_detach(void)
{
	djs_registry_detach(&kretprobes);
}

static void kretprobes_forget(u32 image)
{
	djs_registry_forget(&kretprobes, image);
}

struct djs_misses djs_kretprobes_missed(void)
{
	return djs_registry_missed(&kretprobes);
}

static u64 kretprobe_missed(const struct djs_site_run *run)
{
	return djs_registered_missed(run->data);
}

static void kretprobes_free(void)
{
	djs_registry_free(&kretprobes);
}

const struct djs_mechanism_ops djs_ops_kretprobe = {
    .attach = kretprobes_attach,
    .disarm = kretprobes_disarm,
    .detach = kretprobes_detach,
    .forget = kretprobes_forget,
    .missed = kretprobe_missed,
    .free = kretprobes_free,
};
