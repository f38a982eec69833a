// SPDX-License-Identifier: GPL-2.0-or-later
// The least that attaching to many functions can take: one empty function, attached to the fentry
// sites in sites.h and detached from them through the kernel's interfaces that djstap uses, and
// nothing else. scripts/bench scale compares djstap with it.
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

// The number of sites that are called directly, from the first on; the others get an ftrace_ops.
static unsigned int direct;
module_param(direct, uint, 0);

// Distances of fentry sites from _printk.
static const s32 sites[] = {
#include "sites.h"
};

static struct ftrace_ops direct_ops, ops;

void bare_direct(void);
asm(".pushsection .text, \"ax\"\n"
    ".type bare_direct, @function\n"
    "bare_direct:\n"
#ifdef CONFIG_X86_KERNEL_IBT
    "	endbr64\n"
#endif
#ifdef CONFIG_RETHUNK
    "	jmp __x86_return_thunk\n"
#else
    "	ret\n"
#endif
    ".size bare_direct, . - bare_direct\n"
    ".popsection\n");

static void notrace bare_ops(unsigned long ip, unsigned long parent, struct ftrace_ops* by,
                             struct ftrace_regs* registers) {}

static int attach(unsigned long* addresses) {
    int error;

    direct = min_t(unsigned int, direct, ARRAY_SIZE(sites));
    error = ftrace_set_filter_ips(&direct_ops, addresses, direct, 0, 0);
    if (error)
        return error;
#ifdef HAVE_FTRACE_DIRECT_MULTI
    error = register_ftrace_direct_multi(&direct_ops, (unsigned long)bare_direct);
#else
    error = register_ftrace_direct(&direct_ops, (unsigned long)bare_direct);
#endif
    if (error || direct == ARRAY_SIZE(sites))
        return error;
    ops.func = bare_ops;
    error = ftrace_set_filter_ips(&ops, addresses + direct, ARRAY_SIZE(sites) - direct, 0, 0);
    return error ?: register_ftrace_function(&ops);
}

static void detach(void) {
    if (ops.func)
        unregister_ftrace_function(&ops);
#ifdef HAVE_FTRACE_DIRECT_MULTI
    unregister_ftrace_direct_multi(&direct_ops, (unsigned long)bare_direct);
#else
    unregister_ftrace_direct(&direct_ops, (unsigned long)bare_direct, false);
#endif
    ftrace_free_filter(&ops);
    ftrace_free_filter(&direct_ops);
}

static int __init bare_init(void) {
    unsigned long* addresses = kvmalloc_array(ARRAY_SIZE(sites), sizeof(*addresses), GFP_KERNEL);
    int error;
    u32 i;

    if (!addresses)
        return -ENOMEM;
    for (i = 0; i < ARRAY_SIZE(sites); i++)
        addresses[i] = (unsigned long)_printk + sites[i];
    error = attach(addresses);
    kvfree(addresses);
    if (error)
        detach();
    return error;
}

static void __exit bare_exit(void) {
    detach();
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("one empty function attached to many others");
