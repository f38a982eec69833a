// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

#include "instructions_for_test.h"

/* What other sources have of this. */
#define djs_session_message test_registry_message
#define djs_site_failed test_registry_failed
#define djs_site_shown test_registry_shown
#define djs_pin test_registry_pin
#define djs_ftrace_dead test_registry_ftrace_dead
#define djs_kprobe_refused test_registry_refused
#define djs_sites test_registry_sites
#include "log_for_test.h"
#include "registered_for_test.h"

typedef char kprobe_opcode_t;
struct kprobe {
    kprobe_opcode_t* addr;
    u32 flags;
    unsigned long nmissed;
};
struct kretprobe {
    struct kprobe kp;
    unsigned long nmissed;
};
#define KPROBE_FLAG_DISABLED 2
#define KPROBE_FLAG_FTRACE 8
#define FLAG_OF_A_FAILURE 64

static bool kprobe_disabled(const struct kprobe* kprobe) {
    return kprobe->flags & KPROBE_FLAG_DISABLED;
}
static bool kprobe_ftrace(const struct kprobe* kprobe) {
    return kprobe->flags & KPROBE_FLAG_FTRACE;
}
static int enable_kprobe(struct kprobe* kprobe);
static int disable_kprobe(struct kprobe* kprobe);

#include "kprobe/registered.c"

struct test_probe test_probes[TEST_PROBES];
char test_registry_log[2048];
bool test_registry_ftrace_dead, test_kprobes_off, test_registry_lacks_memory;

static struct djs_site sites_of_test[TEST_PROBES];
static struct djs_site_run runs_of_test[TEST_PROBES];
struct djs_site_run* djs_sites = runs_of_test;

#define note(...) log_for_test(test_registry_log, sizeof(test_registry_log), __VA_ARGS__)

LOG_SESSION_MESSAGES(test_registry_log)

static int number_of_run(const struct djs_site_run* run) {
    return (int)(run - runs_of_test);
}

static int number_of_kprobe(const struct kprobe* kprobe) {
    int number;

    for (number = 0; number < TEST_PROBES - 1; number++)
        if (kprobe->addr == &test_probes[number].text)
            break;
    return number;
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", number_of_run(run), why, error);
}

const char* djs_site_shown(const struct djs_site* site) {
    return "a probe";
}

void djs_pin(u32 count, int error) {
    note("pinned %u (%d)\n", count, error);
}

bool djs_kprobe_refused(struct djs_site_run* run) {
    return test_probes[number_of_run(run)].refused;
}

static void plant(struct kprobe* kprobe) {
    kprobe->flags &= ~(u32)KPROBE_FLAG_DISABLED;
    if (!test_kprobes_off)
        *kprobe->addr = test_probes[number_of_kprobe(kprobe)].by_ftrace ? 'c' : 'b';
}

static int enable_kprobe(struct kprobe* kprobe) {
    const struct test_probe* probe = &test_probes[number_of_kprobe(kprobe)];

    note("enable %d\n", number_of_kprobe(kprobe));
    if (!probe->cannot_enable)
        plant(kprobe);
    return probe->cannot_enable;
}

static int disable_kprobe(struct kprobe* kprobe) {
    struct test_probe* probe = &test_probes[number_of_kprobe(kprobe)];

    note("disable %d\n", number_of_kprobe(kprobe));
    if (probe->cannot_disable)
        return probe->cannot_disable;
    kprobe->flags |= KPROBE_FLAG_DISABLED;
    probe->text = '-';
    return 0;
}

static bool is_one(const struct djs_site_run* run) {
    return test_probes[number_of_run(run)].is_one;
}

static bool may_become_one(const struct djs_site_run* run) {
    return test_probes[number_of_run(run)].may_become_one;
}

static void fill(struct djs_registered* probe) {
    if (test_probes[number_of_run(probe->run)].by_ftrace)
        probe->kretprobe.kp.flags |= KPROBE_FLAG_FTRACE;
}

static bool has_memory(const struct djs_registered* probes, u32 count) {
    note("memory for %u\n", count);
    return !test_registry_lacks_memory;
}

static void verify(struct djs_registered* probe) {
    note("verify %d\n", number_of_run(probe->run));
}

static void take(struct djs_registered* probe) {
    struct kprobe* kprobe = &probe->kretprobe.kp;

    if (kprobe->flags & FLAG_OF_A_FAILURE)
        note("with flags of a failure\n");
    if (!kprobe_disabled(kprobe))
        plant(kprobe);
}

static int register_one(struct djs_registered* probe) {
    const int number = number_of_run(probe->run);

    note("register %d\n", number);
    if (!test_probes[number].rejects)
        take(probe);
    return test_probes[number].rejects;
}

static void unregister_one(struct djs_registered* probe) {
    note("unregister %d\n", number_of_run(probe->run));
}

static void note_batch(const char* what, void** batch, u32 count) {
    u32 i;

    note("%s", what);
    for (i = 0; i < count; i++)
        note(" %d", number_of_run(((struct djs_registered*)batch[i])->run));
    note("\n");
}

static int register_batch(void** batch, u32 count) {
    int error = 0;
    u32 i;

    note_batch("register batch", batch, count);
    for (i = 0; i < count && !error; i++)
        error = test_probes[number_of_run(((struct djs_registered*)batch[i])->run)].rejects;
    for (i = 0; i < count; i++)
        if (error)
            ((struct djs_registered*)batch[i])->kretprobe.kp.flags |= FLAG_OF_A_FAILURE;
        else
            take(batch[i]);
    return error;
}

static void unregister_batch(void** batch, u32 count) {
    note_batch("unregister batch", batch, count);
}

static struct djs_registry registry_of_test = {
    .rejected = "rejected",
    .is_one = is_one,
    .may_become_one = may_become_one,
    .fill = fill,
    .verify = verify,
    .register_one = register_one,
    .unregister_one = unregister_one,
    .register_batch = register_batch,
    .unregister_batch = unregister_batch,
};

void test_registry_begin(bool latest_first, bool checks_memory) {
    memset(test_probes, 0, sizeof(test_probes));
    memset(runs_of_test, 0, sizeof(runs_of_test));
    test_registry_log[0] = 0;
    test_registry_ftrace_dead = test_kprobes_off = test_registry_lacks_memory = false;
    registry_of_test.latest_first = latest_first;
    registry_of_test.has_memory = checks_memory ? has_memory : NULL;
    registry_of_test.switched_off = 0;
    memset(&registry_of_test.forgotten_misses, 0, sizeof(registry_of_test.forgotten_misses));
}

static void tell_sites(void) {
    int i;

    for (i = 0; i < TEST_PROBES; i++) {
        struct djs_site_run* run = &runs_of_test[i];
        struct djs_registered* probe = run->data;

        run->site = &sites_of_test[i];
        run->probe = (unsigned long)&test_probes[i].text;
        run->image = test_probes[i].image;
        run->wanted = test_probes[i].wanted;
        run->absent = test_probes[i].absent;
        if (probe) {
            probe->kretprobe.kp.nmissed = test_probes[i].nested;
            probe->kretprobe.nmissed = test_probes[i].without_instance;
        }
    }
}

static void ask_sites(void) {
    int i;

    for (i = 0; i < TEST_PROBES; i++) {
        const struct djs_site_run* run = &runs_of_test[i];

        test_probes[i].armed = run->armed;
        test_probes[i].has_probe = run->data != NULL;
        test_probes[i].error = run->error;
        test_probes[i].missed = run->missed + (run->data ? djs_registered_missed(run->data) : 0);
    }
}

int test_registry_attach(void) {
    int error;

    tell_sites();
    error = djs_registry_attach(&registry_of_test);
    ask_sites();
    return error;
}

void test_registry_disarm(void) {
    tell_sites();
    djs_registry_disarm(&registry_of_test);
    ask_sites();
}

void test_registry_detach(void) {
    tell_sites();
    djs_registry_detach(&registry_of_test);
    ask_sites();
}

void test_registry_forget(u32 image) {
    tell_sites();
    djs_registry_forget(&registry_of_test, image);
    ask_sites();
}

void test_registry_missed(u64* nested, u64* without_instance) {
    struct djs_misses misses;

    tell_sites();
    misses = djs_registry_missed(&registry_of_test);
    *nested = misses.nested;
    *without_instance = misses.without_instance;
}

void test_registry_end(void) {
    djs_registry_free(&registry_of_test);
}
