// SPDX-License-Identifier: GPL-2.0-or-later
// netfilter.hook(…).pf(…): hooks of the packet filter, in the initial network namespace. What a
// script sees as $hooknum, $skb, $in, $out, $verdict and $pf are the first arguments of a call, as
// in compiler/probes/netfilter_probes.cpp.
#include <linux/mm.h>
#include <linux/netfilter.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "arch/runtime.h"
#include "context/context.h"
#include "sites/mechanism.h"

#ifdef CONFIG_NETFILTER
static DJS_HANDLER_CODE unsigned int packet_seen(void *data, struct sk_buff *skb,
						 const struct nf_hook_state *state)
{
	const struct djs_site_run *run = data;
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];
	struct pt_regs regs =
	    DJS_CALL_REGISTERS(state->hook, skb, state->in, state->out, NF_ACCEPT, state->pf);

	if (handler->by_regs)
		handler->by_regs(NULL, &regs);
	else
		djs_run_handler(handler, run->site, &regs);
	/* A packet that is stolen or queued without an owner would never be freed; nor would one
	 * with NF_STOP, which no kernel since 4.10 knows. */
	return djs_register_argument(&regs, 5) == NF_DROP ? NF_DROP : NF_ACCEPT;
}

/* The kernel emits a warning if it is asked for hooks of a family that it was built without. */
static bool has_family(u64 family)
{
	switch (family) {
	case NFPROTO_INET:
	case NFPROTO_IPV4:
	case NFPROTO_IPV6:
		return true;
#ifdef CONFIG_NETFILTER_FAMILY_ARP
	case NFPROTO_ARP:
		return true;
#endif
#ifdef CONFIG_NETFILTER_FAMILY_BRIDGE
	case NFPROTO_BRIDGE:
		return true;
#endif
	default:
		return false;
	}
}

static int attach_hook(struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];
	struct nf_hook_ops *ops;
	int error;

	if (!has_family(handler->arguments[DJS_NETFILTER_FAMILY])) {
		djs_site_failed(run, -EOPNOTSUPP, "this kernel has no hooks of that family");
		return 0;
	}
	ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	if (!ops)
		return -ENOMEM;
	ops->hook = packet_seen;
	ops->priv = run;
	ops->pf = handler->arguments[DJS_NETFILTER_FAMILY];
	ops->hooknum = handler->arguments[DJS_NETFILTER_HOOK];
	ops->priority = (int)(s64)handler->arguments[DJS_NETFILTER_PRIORITY];
	error = nf_register_net_hook(&init_net, ops);
	if (error) {
		kfree(ops);
		djs_site_failed(run, error, "the kernel rejects the hook");
		return 0;
	}
	run->data = ops;
	run->armed = 1;
	return 0;
}

static void detach_hook(struct djs_site_run *run)
{
	nf_unregister_net_hook(&init_net, run->data);
	synchronize_net(); /* waits for packets that are in the hook */
	kfree(run->data);
	run->data = NULL;
	run->armed = 0;
}
#else
static int attach_hook(struct djs_site_run *run)
{
	djs_site_failed(run, -EOPNOTSUPP, "this kernel has no netfilter support");
	return 0;
}

static void detach_hook(struct djs_site_run *run)
{
}
#endif

static int netfilter_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism == DJS_MECHANISM_NETFILTER && run->wanted && !run->armed &&
		    !run->error && attach_hook(run))
			return -ENOMEM;
	}
	return 0;
}

static void netfilter_disarm(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_NETFILTER && djs_sites[i].armed &&
		    !djs_sites[i].wanted)
			detach_hook(&djs_sites[i]);
}

const struct djs_mechanism_ops djs_ops_netfilter = {
    .attach = netfilter_attach,
    .disarm = netfilter_disarm,
};
