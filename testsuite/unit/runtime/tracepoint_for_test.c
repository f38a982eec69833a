// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

#define DJS_HAVE_TRACEPOINTS 1
/* What other sources have of this. */
#define djs_sites test_point_sites
#define djs_site_failed test_point_failed
#define djs_module_placed test_point_module
#include "log_for_test.h"
#include "tracepoint_for_test.h"

#include "tracepoint/tracepoint.c"

#include "marker/marker.c"

struct test_point test_points[TEST_POINTS];
const char *test_kernel_points[TEST_POINTS], *test_module_points[TEST_POINTS];
bool test_module_is_loaded;
int test_registrations_left;
char test_points_log[2048];

static struct djs_site_run runs_of_test[TEST_POINTS];
struct djs_site_run* djs_sites = runs_of_test;

static struct tracepoint kernel_points[TEST_POINTS], module_points[TEST_POINTS];
static tracepoint_ptr_t module_pointers[TEST_POINTS];
static struct module module_of_test = {.tracepoints_ptrs = module_pointers};

#define note(...) log_for_test(test_points_log, sizeof(test_points_log), __VA_ARGS__)

static void note_point(const char* what, const struct tracepoint* point, void* probe, void* data) {
    const struct djs_site* site = data;

    note("%s %s %d\n", what, point->name, (int)(site - djs_script.sites));
    if (probe != (void*)djs_script.handlers[site->handler].tracepoint)
        note("with another callback\n");
}

static int tracepoint_probe_register(struct tracepoint* point, void* probe, void* data) {
    if (!test_registrations_left) {
        note("refused %s\n", point->name);
        return -ENOMEM;
    }
    test_registrations_left--;
    note_point("on", point, probe, data);
    return 0;
}

static int tracepoint_probe_unregister(struct tracepoint* point, void* probe, void* data) {
    note_point("off", point, probe, data);
    return 0;
}

static void for_each_kernel_tracepoint(void (*visit)(struct tracepoint* point, void* data),
                                       void* data) {
    int i;

    for (i = 0; i < TEST_POINTS && test_kernel_points[i]; i++) {
        kernel_points[i].name = test_kernel_points[i];
        visit(&kernel_points[i], data);
    }
}

static void tracepoint_synchronize_unregister(void) {
    note("all have left\n");
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

struct module* djs_module_placed(u32 image) {
    return test_module_is_loaded && image == 1 ? &module_of_test : NULL;
}

void test_points_begin(void) {
    tracepoints_free();
    memset(runs_of_test, 0, sizeof(runs_of_test));
    memset(test_points, 0, sizeof(test_points));
    memset(test_kernel_points, 0, sizeof(test_kernel_points));
    memset(test_module_points, 0, sizeof(test_module_points));
    test_module_is_loaded = false;
    test_registrations_left = 1000;
    test_points_log[0] = 0;
}

static void tell_sites(void) {
    u32 i;

    for (i = 0; i < TEST_POINTS; i++) {
        module_points[i].name = test_module_points[i];
        module_pointers[i] = &module_points[i];
        if (test_module_points[i])
            module_of_test.num_tracepoints = i + 1;
    }
    for (i = 0; i < djs_script.site_count; i++) {
        const struct djs_site* site = &djs_script.sites[i];

        runs_of_test[i].site = site;
        runs_of_test[i].mechanism = site->mechanism;
        runs_of_test[i].image = site->segment; /* one each */
        runs_of_test[i].wanted = test_points[i].wanted;
        runs_of_test[i].absent = site->segment == 1 && !test_module_is_loaded;
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        test_points[i].armed = runs_of_test[i].armed;
        test_points[i].error = runs_of_test[i].error;
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

int test_tracepoints_attach(void) {
    return attach(&djs_ops_tracepoint);
}

void test_tracepoints_disarm(void) {
    disarm(&djs_ops_tracepoint);
}

int test_markers_attach(void) {
    return attach(&djs_ops_marker);
}

void test_markers_disarm(void) {
    disarm(&djs_ops_marker);
}

void test_tracepoints_free(void) {
    djs_ops_tracepoint.free();
}
