/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_NETFILTER_H
#define DJSTAP_TEST_NETFILTER_H
#include_next <linux/netfilter.h> /* that of programs has the numbers */

#include "include/platform.h"

struct net;
struct sk_buff;
struct net_device;
struct nf_hook_state {
    u8 hook, pf;
    struct net_device *in, *out;
};
struct nf_hook_ops {
    unsigned (*hook)(void* data, struct sk_buff* skb, const struct nf_hook_state* state);
    void* priv;
    u8 pf;
    unsigned hooknum;
    int priority;
};
int nf_register_net_hook(struct net* net, const struct nf_hook_ops* ops);
void nf_unregister_net_hook(struct net* net, const struct nf_hook_ops* ops);
void synchronize_net(void);
#endif
