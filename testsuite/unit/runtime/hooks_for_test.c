// SPDX-License-Identifier: GPL-2.0-or-later
#define djs_biases test_hook_biases
#include "kernel_for_test.h"

#define CONFIG_NETFILTER 1
#define CONFIG_NETFILTER_FAMILY_ARP 1
/* What other sources have of this. */
#define djs_sites test_hook_sites
#define djs_run_handler test_hook_run_handler
#define djs_site_failed test_hook_site_failed

#include "hooks_for_test.h"
#include "log_for_test.h"

char test_hooks_log[2048];
#define note(...) log_for_test(test_hooks_log, sizeof(test_hooks_log), __VA_ARGS__)

/* The arguments are all that a call's registers are good for here. */
struct pt_regs {
    u64 arguments[6];
};
#define DJS_CALL_REGISTERS(a, b, c, d, e, f)                                                       \
    {                                                                                              \
        {                                                                                          \
            (u64)(a), (u64)(b), (u64)(c), (u64)(d), (u64)(e), (u64)(f)                             \
        }                                                                                          \
    }
#define djs_register_argument(regs, n) test_hook_argument(regs, n)

#include "netfilter/netfilter.c"

#include "breakpoint/breakpoint.c"

#include "sites_at_end_for_test.h"

struct test_hook test_hooks[TEST_HOOKS];
int test_hook_error;
bool test_breakpoint_hits_at_once;
void (*test_hook_handler)(struct pt_regs* regs);
struct net init_net;

static unsigned long biases_of_test[1] = {0x1000};
unsigned long* djs_biases = biases_of_test;
static const struct nf_hook_ops *registered[TEST_HOOKS], *last_registered;
static struct perf_event breakpoints[TEST_HOOKS];
static struct perf_event* events_of_cpus[TEST_HOOKS];
static u32 breakpoint_count;

u64 test_hook_argument(const struct pt_regs* regs, u32 number) {
    if (number < 1 || number > ARRAY_SIZE(regs->arguments))
        abort();
    return regs->arguments[number - 1];
}

void test_hook_set_argument(struct pt_regs* regs, u32 number, u64 value) {
    regs->arguments[number - 1] = value;
}

/* ---- the kernel ---- */

int nf_register_net_hook(struct net* net, const struct nf_hook_ops* ops) {
    u32 i;

    test_may_sleep();
    if (net != &init_net)
        abort();
    note("hook %u of family %u, priority %d\n", ops->hooknum, ops->pf, ops->priority);
    if (test_hook_error)
        return test_hook_error;
    for (i = 0; registered[i]; i++)
        if (registered[i] == ops || i == TEST_HOOKS - 1)
            abort();
    registered[i] = last_registered = ops;
    return 0;
}

/* What is not registered ends the test; the kernel would warn. */
void nf_unregister_net_hook(struct net* net, const struct nf_hook_ops* ops) {
    u32 i;

    test_may_sleep();
    note("no hook %u\n", ops->hooknum);
    for (i = 0; registered[i] != ops; i++)
        if (net != &init_net || i == TEST_HOOKS - 1)
            abort();
    registered[i] = NULL;
    if (last_registered == ops)
        last_registered = NULL;
}

void synchronize_net(void) {
    test_wait_for_others();
    note("waited\n");
}

u32 test_packet(void) {
    const struct nf_hook_state state = {
        .hook = 4, .pf = 5, .in = (struct net_device*)2, .out = (struct net_device*)3};
    u32 verdict;

    test_atomic_depth++;
    verdict = last_registered->hook(last_registered->priv, (struct sk_buff*)1, &state);
    test_atomic_depth--;
    return verdict;
}

struct perf_event** register_wide_hw_breakpoint(struct perf_event_attr* attr,
                                                perf_overflow_handler_t handler, void* context) {
    struct perf_event* event = &breakpoints[breakpoint_count];

    test_may_sleep();
    if (breakpoint_count == TEST_HOOKS || attr->type != 5 || attr->size != sizeof(*attr) ||
        attr->sample_period != 1)
        abort();
    note("breakpoint at %llx, %llu bytes, %u\n", (unsigned long long)attr->bp_addr,
         (unsigned long long)attr->bp_len, attr->bp_type);
    if (test_hook_error)
        return ERR_PTR(test_hook_error);
    event->overflow_handler = handler;
    event->overflow_handler_context = context;
    events_of_cpus[breakpoint_count] = event;
    if (test_breakpoint_hits_at_once)
        test_breakpoint_hit(breakpoint_count, NULL);
    return &events_of_cpus[breakpoint_count++];
}

void unregister_wide_hw_breakpoint(struct perf_event** events) {
    test_may_sleep();
    if (!*events)
        abort();
    note("no breakpoint %d\n", (int)(events - events_of_cpus));
    *events = NULL;
}

void test_breakpoint_hit(u32 number, struct pt_regs* regs) {
    test_atomic_depth++;
    events_of_cpus[number]->overflow_handler(events_of_cpus[number], NULL, regs);
    test_atomic_depth--;
}

/* ---- the rest of the runtime ---- */

void djs_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                     struct pt_regs* regs) {
    const long number = site - djs_script.sites;

    note("handler %ld%s%s\n", number,
         handler == &djs_script.handlers[site->handler] ? "" : ", another one",
         last_registered || runs_of_test[number].armed ? "" : " of what is not armed");
    if (test_hook_handler)
        test_hook_handler(regs);
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

/* ---- what a test does ---- */

void test_hooks_begin(void) {
    memset(test_hooks, 0, sizeof(test_hooks));
    forget_sites(TEST_HOOKS);
    test_hooks_log[0] = 0;
    test_hook_error = 0;
    test_hook_handler = NULL;
    test_breakpoint_hits_at_once = false;
    memset(registered, 0, sizeof(registered));
    last_registered = NULL;
    breakpoint_count = 0;
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++) {
        runs_of_test[i].site = &djs_script.sites[i];
        runs_of_test[i].mechanism = djs_script.sites[i].mechanism;
        runs_of_test[i].wanted = test_hooks[i].wanted;
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        test_hooks[i].armed = runs_of_test[i].armed;
        test_hooks[i].has_data = runs_of_test[i].data != NULL;
        test_hooks[i].error = runs_of_test[i].error;
    }
}

static int attach(const struct djs_mechanism_ops* ops) {
    int error;

    tell_sites();
    error = ops->attach();
    ask_sites();
    return error;
}

static void disarm(const struct djs_mechanism_ops* ops) {
    tell_sites();
    ops->disarm();
    ask_sites();
}

int test_netfilter_attach(void) {
    return attach(&djs_ops_netfilter);
}

void test_netfilter_disarm(void) {
    disarm(&djs_ops_netfilter);
}

int test_breakpoints_attach(void) {
    return attach(&djs_ops_breakpoint);
}

void test_breakpoints_disarm(void) {
    disarm(&djs_ops_breakpoint);
}
