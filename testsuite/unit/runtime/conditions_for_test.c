// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

/* What other sources have of this. */
#define djs_sites test_condition_site_runs
#define djs_enter test_condition_enter
#define djs_leave test_condition_leave
#define djs_session_rearm test_condition_session_rearm
#define djs_conditions_changed test_conditions_changed
#define djs_conditions_exit test_conditions_exit
#define djs_conditions_evaluate test_conditions_evaluate_now
#define djs_probe_switch test_conditions_switch
#define djs_message_alone test_condition_message
#define djs_livepatch_init test_livepatch_init
#define djs_livepatch_exit test_livepatch_exit
#define djs_livepatch_watch test_livepatch_watch_now
#define djs_livepatch_ignore test_livepatch_ignore
#include "conditions_for_test.h"
#include "log_for_test.h"

char test_conditions_log[512];
#define note(...) log_for_test(test_conditions_log, sizeof(test_conditions_log), __VA_ARGS__)

#include "linux/workqueue.h"

static struct work_struct* scheduled;
static struct irq_work* interrupts;
#undef schedule_work
#undef cancel_work_sync
#undef irq_work_queue
#undef irq_work_sync
#define schedule_work(work) (note("task\n"), (void)(scheduled = (work)))
#define cancel_work_sync(work)                                                                     \
    (test_may_sleep(), note("no task\n"),                                                          \
     (void)(scheduled = scheduled == (work) ? NULL : scheduled))
#define irq_work_queue(work) (note("interrupt\n"), (void)(interrupts = (work)))
/* It waits for what runs: that may still schedule the task. */
#define irq_work_sync(work)                                                                        \
    (test_may_sleep(), interrupts == (work) ? test_conditions_interrupt() : (void)0)
enum { MODULE_STATE_LIVE, MODULE_STATE_COMING };
#define is_livepatch_module(module) (*(const bool*)(module))
struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site);
void djs_leave(struct djs_ctx* ctx);

#include "control/conditions.c"

#include "control/livepatch.c"

#include "sites_at_end_for_test.h"

struct test_condition_site test_condition_sites[TEST_CONDITION_SITES];
bool test_conditions_no_context;
void (*test_conditions_rearm)(void);

static struct djs_ctx ctx_of_test;
static struct notifier_block* notified;

struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site) {
    if (site)
        abort();
    if (test_conditions_no_context)
        return NULL;
    test_atomic_depth++;
    ctx_of_test.condition = 77; /* of another one */
    return &ctx_of_test;
}

/* Others may change globals from here on. */
void djs_leave(struct djs_ctx* ctx) {
    u32 i;

    note("states");
    for (i = 0; i < djs_script.condition_count; i++)
        note(" %u", djs_script.condition_states[i]);
    note("\n");
    test_atomic_depth--;
}

void djs_session_rearm(void) {
    note("rearm\n");
    if (test_conditions_rearm)
        test_conditions_rearm();
}

void djs_message_alone(const char* text) {
    note("%s\n", text);
}

int register_module_notifier(struct notifier_block* block) {
    if (notified)
        return -EEXIST;
    notified = block;
    return 0;
}

int unregister_module_notifier(struct notifier_block* block) {
    if (notified != block)
        abort();
    notified = NULL;
    return 0;
}

void test_livepatch_module(bool is_live, bool is_livepatch) {
    if (notified &&
        notified->notifier_call(notified, is_live ? MODULE_STATE_LIVE : MODULE_STATE_COMING,
                                &is_livepatch) != NOTIFY_DONE)
        abort();
}

void test_conditions_begin(void) {
    memset(test_condition_sites, 0, sizeof(test_condition_sites));
    forget_sites(TEST_CONDITION_SITES);
    test_conditions_log[0] = 0;
    test_conditions_no_context = false;
    test_conditions_rearm = NULL;
    scheduled = NULL;
    interrupts = NULL;
    conditions_differ = 0;
}

void test_conditions_interrupt(void) {
    struct irq_work* work = interrupts;

    interrupts = NULL;
    if (work)
        work->run(work);
}

void test_conditions_work(void) {
    struct work_struct* work = scheduled;

    scheduled = NULL;
    if (work)
        work->run(work);
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++)
        runs_of_test[i].follows = 0;
    for (i = 0; i < djs_script.site_count; i++) {
        const struct test_condition_site* site = &test_condition_sites[i];
        struct djs_site_run* run = &runs_of_test[i];

        run->site = &djs_script.sites[i];
        run->mechanism = site->mechanism;
        run->fallback = site->fallback;
        run->absent = site->absent;
        run->disarmed = site->disarmed;
        run->armed = site->armed;
        run->next = site->next ? &runs_of_test[site->next] : NULL;
        if (site->next)
            run->next->follows = 1;
    }
}

void test_conditions_evaluate(void) {
    u32 i;

    tell_sites();
    djs_conditions_evaluate();
    for (i = 0; i < djs_script.site_count; i++)
        test_condition_sites[i].wanted = runs_of_test[i].wanted;
}

void test_livepatch_watch(void) {
    tell_sites();
    djs_livepatch_watch();
}
