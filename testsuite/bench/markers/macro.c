// SPDX-License-Identifier: GPL-2.0-or-later
// Markers in the way of a whole system, for scripts/bench markers: one at each packet that the
// machine receives (packets=1), or one each at system calls, page faults and context switches.
// macro_without.c is the same module without them.
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>

#include <djstap/marker.h>

#ifdef WITHOUT_MARKERS
#undef DJSTAP_MARK
#define DJSTAP_MARK(name, format, ...)                                                             \
    do {                                                                                           \
    } while (0)
#endif

static bool packets;
module_param(packets, bool, 0400);

static unsigned int received(void* private, struct sk_buff* skb,
                             const struct nf_hook_state* state) {
    DJSTAP_MARK(packet, "%u %p", skb->len, skb);
    return NF_ACCEPT;
}

static const struct nf_hook_ops hook = {
    .hook = received,
    .pf = NFPROTO_IPV4,
    .hooknum = NF_INET_LOCAL_IN,
};

static void on_enter(void* data, struct pt_regs* regs, long id) {
    DJSTAP_MARK(system_call, "%ld", id);
}

static void on_exit(void* data, struct pt_regs* regs, long value) {
    DJSTAP_MARK(system_call_returns, "%ld", value);
}

static void on_fault(void* data, unsigned long address, struct pt_regs* regs, unsigned long code) {
    DJSTAP_MARK(page_fault, "%lx %lx", address, code);
}

static void on_switch(void* data, bool preempted, struct task_struct* from,
                      struct task_struct* to) {
    DJSTAP_MARK(context_switch, "%d %d", from->pid, to->pid);
}

static struct wanted {
    const char* name;
    void* callback;
    struct tracepoint* point; // if the callback is registered
} all[] = {
    {"sys_enter", on_enter},         {"sys_exit", on_exit},       {"page_fault_user", on_fault},
    {"page_fault_kernel", on_fault}, {"sched_switch", on_switch},
};

static void attach(struct tracepoint* point, void* error) {
    int i;

    for (i = 0; i < ARRAY_SIZE(all) && !*(int*)error; i++) {
        if (all[i].point || strcmp(point->name, all[i].name))
            continue;
        *(int*)error = tracepoint_probe_register(point, all[i].callback, NULL);
        if (!*(int*)error)
            all[i].point = point;
    }
}

static void detach_all(void) {
    int i;

    for (i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i].point)
            tracepoint_probe_unregister(all[i].point, all[i].callback, NULL);
    tracepoint_synchronize_unregister();
}

static int attach_all(void) {
    int i, error = 0;

    for_each_kernel_tracepoint(attach, &error);
    for (i = 0; i < ARRAY_SIZE(all) && !error; i++)
        if (!all[i].point)
            error = -ENOENT;
    if (error)
        detach_all();
    return error;
}

static int __init macro_init(void) {
    return packets ? nf_register_net_hook(&init_net, &hook) : attach_all();
}

static void __exit macro_exit(void) {
    if (packets)
        nf_unregister_net_hook(&init_net, &hook);
    else
        detach_all();
}

module_init(macro_init);
module_exit(macro_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("callbacks with static markers");
