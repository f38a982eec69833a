// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_sites test_coming_site_runs
#define djs_image_of_module test_coming_image_of
#define djs_lookup_update test_coming_lookup_update
#define djs_module_forget test_coming_module_forget
#define djs_module_get test_coming_module_get
#define djs_module_place test_coming_module_place
#define djs_modules_exit test_coming_exit
#define djs_modules_follow test_coming_modules_follow
#define djs_modules_followed test_coming_followed
#define djs_modules_ignore test_coming_ignore
#define djs_modules_init test_coming_init
#define djs_session_message test_coming_message
#define djs_site_place test_coming_site_place
#define djs_sites_forget test_coming_sites_forget
#define djs_sites_lock test_coming_lock
#define djs_sites_rearm_locked test_coming_rearm
#define djs_sites_unlock test_coming_unlock
#define register_module_notifier test_coming_register
#define unregister_module_notifier test_coming_unregister
#include "kernel_for_test.h"

#include "linux/notifier.h"

#include "coming_modules_for_test.h"
#include "log_for_test.h"

char test_coming_log[1024];
#define note(...) log_for_test(test_coming_log, sizeof(test_coming_log), __VA_ARGS__)

struct module {
    const char* name;
};
enum {
    MODULE_STATE_COMING = TEST_MODULE_COMES,
    MODULE_STATE_LIVE = TEST_MODULE_IS_LIVE,
    MODULE_STATE_GOING = TEST_MODULE_GOES,
};
#define module_put(module) test_put(&test_coming_references)

#include "control/modules.c"

#include "sites_at_end_for_test.h"

struct test_coming_site test_coming_sites[TEST_COMING_SITES];
bool test_coming_is_loaded[TEST_COMING_IMAGES];
int test_coming_references, test_coming_place_error, test_coming_lookup_error,
    test_coming_notifier_errors[2];
u32 test_coming_notifiers;

static struct module modules_of_test[TEST_COMING_IMAGES];
static struct notifier_block* notifiers[2];
static bool is_locked;

LOG_SESSION_MESSAGES(test_coming_log)

void djs_sites_lock(void) {
    test_may_sleep();
    if (is_locked)
        abort();
    is_locked = true;
}

void djs_sites_unlock(void) {
    if (!is_locked)
        abort();
    is_locked = false;
}

static void expect_lock(void) {
    if (!is_locked)
        abort();
}

u32 djs_image_of_module(const char* name) {
    u32 i;

    for (i = 0; i < djs_script.image_count; i++)
        if (djs_image_is_module(i) && !strcmp(djs_script.images[i].name, name))
            return i;
    return DJS_NO_INDEX;
}

struct module* djs_module_get(u32 image) {
    expect_lock();
    if (!djs_image_is_module(image))
        abort();
    if (!test_coming_is_loaded[image])
        return NULL;
    test_coming_references++;
    modules_of_test[image].name = djs_script.images[image].name;
    return &modules_of_test[image];
}

int djs_module_place(u32 image, struct module* module) {
    expect_lock();
    if (strcmp(module->name, djs_script.images[image].name))
        abort();
    note("place(%u) ", image);
    return test_coming_place_error;
}

void djs_module_forget(u32 image) {
    expect_lock();
    note("gone(%u) ", image);
}

int djs_lookup_update(void) {
    expect_lock();
    note("lookup ");
    return test_coming_lookup_error;
}

void djs_site_place(struct djs_site_run* run) {
    expect_lock();
    test_coming_sites[run - djs_sites].is_placed = true;
}

/* The sites are told to the test before that: whoever is no longer wanted is detached here. */
void djs_sites_forget(u32 image) {
    u32 i;

    expect_lock();
    note("forget(%u) ", image);
    for (i = 0; i < djs_script.site_count; i++)
        if (djs_sites[i].image == image && djs_sites[i].wanted)
            abort();
}

void djs_sites_rearm_locked(void) {
    expect_lock();
    note("rearm ");
}

int register_module_notifier(struct notifier_block* block) {
    const int error = test_coming_notifier_errors[test_coming_notifiers];

    if (error)
        return error;
    if (test_coming_notifiers == 2)
        abort();
    notifiers[test_coming_notifiers++] = block;
    return 0;
}

int unregister_module_notifier(struct notifier_block* block) {
    if (!test_coming_notifiers)
        abort();
    if (notifiers[0] == block)
        notifiers[0] = notifiers[1];
    else if (test_coming_notifiers == 1 || notifiers[1] != block)
        abort();
    test_coming_notifiers--;
    return 0;
}

void test_coming_begin(void) {
    forget_sites(TEST_COMING_SITES);
    memset(test_coming_sites, 0, sizeof(test_coming_sites));
    memset(test_coming_is_loaded, 0, sizeof(test_coming_is_loaded));
    memset(test_coming_notifier_errors, 0, sizeof(test_coming_notifier_errors));
    test_coming_log[0] = 0;
    test_coming_references = test_coming_place_error = test_coming_lookup_error = 0;
    test_coming_notifiers = 0;
    watching = open_to_modules = is_locked = false;
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++) {
        const struct test_coming_site* site = &test_coming_sites[i];

        djs_sites[i] = (struct djs_site_run){.site = &djs_script.sites[i],
                                             .image = site->image,
                                             .error = site->error,
                                             .armed = site->armed,
                                             .wanted = site->wanted,
                                             .absent = site->absent};
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        test_coming_sites[i].error = djs_sites[i].error;
        test_coming_sites[i].absent = djs_sites[i].absent;
        test_coming_sites[i].wanted = djs_sites[i].wanted;
    }
}

int test_coming_follow(void) {
    int error;

    tell_sites();
    djs_sites_lock();
    error = djs_modules_follow();
    djs_sites_unlock();
    ask_sites();
    return error;
}

static void call(struct notifier_block* block, struct module* module, int what) {
    if (block->notifier_call(block, what, module) != NOTIFY_DONE)
        abort();
}

void test_coming_module(const char* name, int what) {
    struct module module = {name};
    u32 i, first;

    if (test_coming_notifiers != 2)
        abort();
    tell_sites();
    first = notifiers[1]->priority > notifiers[0]->priority;
    for (i = 0; i < 2; i++) {
        if (notifiers[first ^ i]->priority < 0)
            note("others ");
        call(notifiers[first ^ i], &module, what);
    }
    if (notifiers[!first]->priority >= 0)
        note("others ");
    if (is_locked)
        abort();
    ask_sites();
}
