/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mechanisms for arming_for_test.c: each notes what it is asked for, and what it attaches or
 * detaches. They have the operations and the properties of the real ones. */
#ifndef DJSTAP_MADE_UP_MECHANISMS_H
#define DJSTAP_MADE_UP_MECHANISMS_H

#include "arming_for_test.h"

static const struct test_arming_site* told(const struct djs_site_run* run) {
    return &test_arming_sites[run - djs_sites];
}

static bool has(const struct djs_mechanism_ops* ops, const struct djs_site_run* run) {
    static const struct djs_mechanism_ops* const all[] = {
#define DJS_MECHANISM(id, id_, name, ops, flags) &djs_ops_##ops,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
    };

    return run->mechanism < DJS_MECHANISM_COUNT && all[run->mechanism] == ops;
}

static bool has_any(const struct djs_mechanism_ops* ops) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++)
        if (has(ops, &djs_sites[i]))
            return true;
    return false;
}

static int attach(const struct djs_mechanism_ops* ops, const char* name) {
    int error = 0;
    u32 i;

    expect_lock(true);
    note("%s.attach(", name);
    for (i = 0; i < djs_script.site_count && !error; i++) {
        struct djs_site_run* run = &djs_sites[i];

        if (!has(ops, run) || !run->wanted || run->armed || run->error)
            continue;
        error = told(run)->returned_error;
        run->error = told(run)->attach_error;
        run->armed = !error && !run->error;
        if (run->armed)
            note("%u", i);
    }
    note(") ");
    return error;
}

static void detach_some(const struct djs_mechanism_ops* ops, const char* name, const char* how,
                        bool wanted_too, u32 image) {
    u32 i;

    expect_lock(true);
    if (!has_any(ops))
        return;
    note("%s.%s(", name, how);
    for (i = 0; i < djs_script.site_count; i++) {
        struct djs_site_run* run = &djs_sites[i];

        if (!has(ops, run) || !run->armed || (run->wanted && !wanted_too) ||
            (image != DJS_NO_INDEX && run->image != image))
            continue;
        run->armed = told(run)->stays;
        note("%u", i);
    }
    note(") ");
}

static u64 missed_of(const struct djs_site_run* run) {
    return *(const u64*)run->data;
}

#define CALLBACKS(name)                                                                            \
    static int attach_##name(void) {                                                               \
        return attach(&djs_ops_##name, #name);                                                     \
    }                                                                                              \
    static void disarm_##name(void) {                                                              \
        detach_some(&djs_ops_##name, #name, "disarm", false, DJS_NO_INDEX);                        \
    }
#define DETACHES(name)                                                                             \
    static void detach_##name(void) {                                                              \
        detach_some(&djs_ops_##name, #name, "detach", true, DJS_NO_INDEX);                         \
    }
#define FORGETS(name)                                                                              \
    static void forget_##name(u32 image) {                                                         \
        detach_some(&djs_ops_##name, #name, "forget", false, image);                               \
    }
#define FREES(name)                                                                                \
    static void free_##name(void) {                                                                \
        note("%s.free ", #name);                                                                   \
    }
CALLBACKS(breakpoint)
CALLBACKS(djprobe)
CALLBACKS(ftrace)
CALLBACKS(kprobe)
DETACHES(kprobe)
FORGETS(kprobe)
FREES(kprobe)
CALLBACKS(kretprobe)
DETACHES(kretprobe)
FORGETS(kretprobe)
FREES(kretprobe)
CALLBACKS(marker)
CALLBACKS(netfilter)
CALLBACKS(perf)
CALLBACKS(process)
DETACHES(process)
FREES(process)
CALLBACKS(procfs)
DETACHES(procfs)
CALLBACKS(timer)
CALLBACKS(tracepoint)
FREES(tracepoint)
CALLBACKS(uprobe)
FREES(uprobe)

static void begin_process(void) {
    expect_lock(true);
    note("process.begin ");
}

#define BOTH(name) .attach = attach_##name, .disarm = disarm_##name
const struct djs_mechanism_ops djs_ops_breakpoint = {BOTH(breakpoint), .last = true};
const struct djs_mechanism_ops djs_ops_djprobe = {BOTH(djprobe), .drains = true};
const struct djs_mechanism_ops djs_ops_ftrace = {BOTH(ftrace), .drains = true};
const struct djs_mechanism_ops djs_ops_kprobe = {
    BOTH(kprobe),        .detach = detach_kprobe, .forget = forget_kprobe,
    .missed = missed_of, .free = free_kprobe,     .keeps_ftrace = true};
const struct djs_mechanism_ops djs_ops_kretprobe = {BOTH(kretprobe), .detach = detach_kretprobe,
                                                    .forget = forget_kretprobe, .missed = missed_of,
                                                    .free = free_kretprobe};
const struct djs_mechanism_ops djs_ops_marker = {BOTH(marker)};
const struct djs_mechanism_ops djs_ops_netfilter = {BOTH(netfilter)};
const struct djs_mechanism_ops djs_ops_perf = {BOTH(perf), .last = true};
const struct djs_mechanism_ops djs_ops_process = {BOTH(process),          .detach = detach_process,
                                                  .begin = begin_process, .free = free_process,
                                                  .last = true,           .drains = true};
const struct djs_mechanism_ops djs_ops_procfs = {BOTH(procfs), .detach = detach_procfs,
                                                 .last = true};
const struct djs_mechanism_ops djs_ops_timer = {BOTH(timer), .last = true};
const struct djs_mechanism_ops djs_ops_tracepoint = {BOTH(tracepoint), .free = free_tracepoint};
const struct djs_mechanism_ops djs_ops_uprobe = {BOTH(uprobe), .free = free_uprobe, .last = true,
                                                 .drains = true};

#endif
