// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

#include "instructions_for_test.h"

/* What other sources have of this. */
#define djs_pin test_groups_pin
#define djs_ftrace_dead test_groups_ftrace_dead
#define djs_sites test_groups_sites
#include "groups_for_test.h"
#include "log_for_test.h"

char test_groups_log[2048];

#define note(...) log_for_test(test_groups_log, sizeof(test_groups_log), __VA_ARGS__)

#define swap(a, b)                                                                                 \
    do {                                                                                           \
        __typeof__(a) former = (a);                                                                \
        (a) = (b);                                                                                 \
        (b) = former;                                                                              \
    } while (0)
#define synchronize_rcu() note("drain\n")

#include "djprobe/groups.c"

struct test_function test_functions[TEST_FUNCTIONS];
bool test_groups_ftrace_dead;
int test_filter_error, test_attach_error, test_disconnect_error;

static char texts[TEST_FUNCTIONS][8];
static struct djs_site sites_of_test[TEST_FUNCTIONS];
static struct djs_site_run runs_of_test[TEST_FUNCTIONS];
struct djs_site_run* djs_sites = runs_of_test;

static const struct ftrace_ops* filtered;
static unsigned long filter[TEST_FUNCTIONS];
static unsigned int filter_count;

static int number_at(unsigned long address) {
    return (int)((address - (unsigned long)texts) / sizeof(texts[0]));
}

int ftrace_set_filter_ips(struct ftrace_ops* ops, unsigned long* addresses, unsigned int count,
                          int remove, int reset) {
    if (remove || reset)
        note("other functions\n");
    if (filtered)
        note("the filter before was not freed\n");
    if (test_filter_error)
        return test_filter_error;
    filtered = ops;
    memcpy(filter, addresses, count * sizeof(*addresses));
    filter_count = count;
    return 0;
}

void ftrace_free_filter(struct ftrace_ops* ops) {
    if (filtered == ops)
        filtered = NULL;
}

void djs_pin(u32 count, int error) {
    note("pinned %u (%d)\n", count, error);
}

static void prepare(struct djs_group* group) {
    group->returns = true;
}

static int attach(struct djs_group* group) {
    int error = test_attach_error;
    unsigned int i;

    if (filtered != &group->ops || !group->returns)
        note("not prepared\n");
    if (group->count != filter_count || group->first != filter[0])
        note("with another number, or another first one\n");
    note("attach %u:", group->number);
    for (i = 0; i < filter_count; i++) {
        note(" %d", number_at(filter[i]));
        if (test_functions[number_at(filter[i])].busy)
            error = -EBUSY;
    }
    note(error ? " refused\n" : "\n");
    group->ops.flags = 1; /* whatever they were */
    if (!error)
        filtered = NULL; /* it stays */
    return error;
}

static void refused(struct djs_site_run* run, int error) {
    run->error = error;
    note("refused %d (%d)\n", (int)(run - runs_of_test), error);
}

static bool takes(const struct djs_site_run* run) {
    return test_functions[run - runs_of_test].taken;
}

static int disconnect(struct djs_group* group) {
    note("disconnect %u\n", group->number);
    if (group->ops.flags != (1 | FTRACE_OPS_FL_PERMANENT))
        note("it could be switched off\n");
    return test_disconnect_error;
}

static void release(struct djs_group* group) {
    note("release %u\n", group->number);
}

static LIST_HEAD(groups_of_test);

static struct djs_group_kind kind_of_test = {
    .prepare = prepare,
    .attach = attach,
    .refused = refused,
    .groups = &groups_of_test,
    .takes = takes,
    .disconnect = disconnect,
    .release = release,
};

void test_groups_begin(bool by_trampoline, bool undrained) {
    struct djs_group *group, *next;

    list_for_each_entry_safe(group, next, &groups_of_test, list) {
        list_del(&group->list);
        kfree(group);
    }
    memset(test_functions, 0, sizeof(test_functions));
    memset(runs_of_test, 0, sizeof(runs_of_test));
    test_groups_log[0] = 0;
    filtered = NULL;
    test_groups_ftrace_dead = false;
    test_filter_error = test_attach_error = test_disconnect_error = 0;
    kind_of_test.by_trampoline = by_trampoline;
    kind_of_test.undrained = undrained;
}

static void tell_sites(void) {
    int i;

    for (i = 0; i < TEST_FUNCTIONS; i++) {
        const struct test_function* function = &test_functions[i];

        memcpy(texts[i], function->is_in_use ? "calls" : "no-op", DJS_CALL_BYTES);
        sites_of_test[i].handler = sites_of_test[i].trampoline = function->number;
        runs_of_test[i].site = &sites_of_test[i];
        runs_of_test[i].address = (unsigned long)texts[i];
        runs_of_test[i].image = function->image;
        runs_of_test[i].wanted = function->wanted;
        runs_of_test[i].next = function->next ? &runs_of_test[function->next] : NULL;
        if (function->next)
            runs_of_test[function->next].follows = 1;
    }
}

static void ask_sites(void) {
    int i;

    for (i = 0; i < TEST_FUNCTIONS; i++) {
        test_functions[i].armed = runs_of_test[i].armed;
        test_functions[i].has_group = runs_of_test[i].data != NULL;
        test_functions[i].error = runs_of_test[i].error;
    }
}

int test_groups_attach(void) {
    int error;

    tell_sites();
    error = djs_groups_attach(&kind_of_test);
    ask_sites();
    return error;
}

void test_groups_detach(void) {
    tell_sites();
    djs_groups_detach(&kind_of_test);
    ask_sites();
}
