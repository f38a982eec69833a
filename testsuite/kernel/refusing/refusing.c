// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps what a runtime of instrument.py counts, beyond the lives of scripts' modules. Its
// parameters: address: of the counts, which the scripts' modules get as `refusing`; next: how many
// requests from now the one is that is refused, 0: none; where: the function that made it; live:
// allocations that are not freed.
#include "refusing.h"
#include <linux/module.h>

static struct refusing state;
static unsigned long address;

module_param(address, ulong, 0400);
module_param_named(next, state.next.counter, int, 0600);
module_param_named(live, state.live.counter, int, 0400);
module_param_string(where, state.where, sizeof state.where, 0600);

static int __init refusing_init(void) {
    address = (unsigned long)&state;
    return 0;
}

static void __exit refusing_exit(void) {}

module_init(refusing_init);
module_exit(refusing_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("refuses what djstap's runtime asks the kernel for, for djstap's tests");
