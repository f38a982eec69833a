// SPDX-License-Identifier: GPL-2.0-or-later
// A livepatch of the gettimeofday system call: it only counts, and returns success.
#include <linux/livepatch.h>
#include <linux/module.h>

static unsigned long calls;
module_param(calls, ulong, 0444);

static long patched_gettimeofday(const struct pt_regs* regs) {
    calls++;
    return 0;
}

static struct klp_func functions[] = {
    {.old_name = "__x64_sys_gettimeofday", .new_func = patched_gettimeofday},
    {},
};
static struct klp_object objects[] = {{.funcs = functions}, {}};
static struct klp_patch patch = {.mod = THIS_MODULE, .objs = objects};

static int __init patch_init(void) {
    return klp_enable_patch(&patch);
}

static void __exit patch_exit(void) {}

module_init(patch_init);
module_exit(patch_exit);
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("a livepatch for a test");
