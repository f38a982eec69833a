// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests to probe, which defines tracepoints.
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "traced.h"

static int __init traced_init(void) {
    int i;

    for (i = 0; i < 3; i++) {
        trace_traced_step(i, "first");
        trace_traced_bare(i + 10);
    }
    return 0;
}

static void __exit traced_exit(void) {
    trace_traced_step(100, "last");
}

module_init(traced_init);
module_exit(traced_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("probed by djstap's tests");
