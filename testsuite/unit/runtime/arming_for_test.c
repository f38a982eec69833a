// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this. */
#define djs_sites test_arming_site_runs
#define djs_biases test_arming_biases
#define djs_mechanisms_used test_arming_used
#define djs_mechanisms_unknown test_arming_unknown
#define djs_ftrace_dead test_arming_ftrace_dead
#define djs_at_fentry_site test_arming_at_fentry_site
#define djs_conditions_evaluate test_arming_evaluate
#define djs_direct_disarm_sharing test_arming_disarm_sharing
#define djs_ftrace_enable test_arming_ftrace_enable
#define djs_ftrace_enabled test_arming_ftrace_enabled
#define djs_ftrace_keep test_arming_ftrace_keep
#define djs_ftrace_let_go test_arming_ftrace_let_go
#define djs_inside_drain test_arming_inside_drain
#define djs_livepatch_exit test_arming_livepatch_exit
#define djs_livepatch_ignore test_arming_livepatch_ignore
#define djs_livepatch_init test_arming_livepatch_init
#define djs_livepatch_watch test_arming_livepatch_watch
#define djs_modules_exit test_arming_modules_exit
#define djs_modules_follow test_arming_modules_follow
#define djs_modules_followed test_arming_modules_followed
#define djs_modules_ignore test_arming_modules_ignore
#define djs_modules_init test_arming_modules_init
#define djs_overload_start test_arming_overload_start
#define djs_overload_stop test_arming_overload_stop
#define djs_pin test_arming_pin
#define djs_pinned test_arming_is_pinned
#define djs_session_message test_arming_message
#define djs_site_failed test_arming_site_failed
#define djs_site_shown test_arming_site_shown
#define djs_site_use test_arming_site_use
#define djs_sites_exit test_arming_sites_exit
#define djs_sites_failed_count test_arming_failed_count
#define djs_sites_init test_arming_sites_init
#define djs_sites_lock test_arming_lock
#define djs_sites_unlock test_arming_unlock
#define djs_user_places_report test_arming_places_report
/* What arming.c and mechanisms.c have, of which the tests of others have their own. */
#define djs_arming_exit test_arming_exit_all
#define djs_arming_init test_arming_init_all
#define djs_mechanism_ops test_arming_ops
#define djs_mechanism_ops_once test_arming_ops_once
#define djs_mechanism_rows test_arming_rows
#define djs_mechanisms_begin test_arming_begin_all
#define djs_site_missed test_arming_site_missed
#define djs_sites_arm test_arming_sites_arm
#define djs_sites_disarm test_arming_sites_disarm
#define djs_sites_forget test_arming_sites_forget
#define djs_sites_rearm test_arming_sites_rearm
#define djs_sites_rearm_locked test_arming_rearm_locked
#define djs_ops_breakpoint test_arming_breakpoint
#define djs_ops_djprobe test_arming_djprobe
#define djs_ops_ftrace test_arming_ftrace
#define djs_ops_kprobe test_arming_kprobe
#define djs_ops_kretprobe test_arming_kretprobe
#define djs_ops_marker test_arming_marker
#define djs_ops_netfilter test_arming_netfilter
#define djs_ops_perf test_arming_perf
#define djs_ops_process test_arming_process
#define djs_ops_procfs test_arming_procfs
#define djs_ops_session test_arming_session
#define djs_ops_timer test_arming_timer
#define djs_ops_tracepoint test_arming_tracepoint
#define djs_ops_uprobe test_arming_uprobe

#include "kernel_for_test.h"

#include "arming_for_test.h"
#include "log_for_test.h"

char test_arming_log[2048];
#define note(...) log_for_test(test_arming_log, sizeof(test_arming_log), __VA_ARGS__)

#undef pr_warn
#define pr_warn(...) note(__VA_ARGS__)
/* The kernel has all kinds of tasks that are waited for. */
#define DJS_HAVE_RCU_TASKS 1
#define DJS_HAVE_RCU_TASKS_RUDE 1
#define synchronize_rcu_tasks() note("tasks ")
#define synchronize_rcu_tasks_rude() note("rude ")
#include "linux/rcupdate.h"
#undef synchronize_rcu
#define synchronize_rcu() (test_may_sleep(), note("rcu "))

struct kprobe;
#include "control/arming.c"

#include "control/mechanisms.c"

#include "sites_at_end_for_test.h"

struct test_arming_site test_arming_sites[TEST_ARMING_SITES];
int test_arming_enabled, test_arming_enable_error, test_arming_keep_error, test_arming_let_go_error,
    test_arming_follow_error, test_arming_sites_error, test_arming_modules_error,
    test_arming_livepatch_error;
bool test_arming_followed, test_arming_pinned, test_arming_unknown, test_arming_ftrace_dead;
u32 djs_mechanisms_used;
static unsigned long biases_of_test[2] = {0x1000, 0x200000};
unsigned long* djs_biases = biases_of_test;

static bool is_locked;
static void (*overload)(u32 owner, u32 percent);

LOG_SESSION_MESSAGES(test_arming_log)

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

/* What changes sites, and what asks for them. */
static void expect_lock(bool locked) {
    if (is_locked != locked)
        abort();
}

#include "made_up_mechanisms.h"

/* ---- the rest of the runtime ---- */

int djs_sites_init(void) {
    note("sites ");
    return test_arming_sites_error;
}

void djs_sites_exit(void) {
    note("sites.exit ");
}

void djs_site_use(struct djs_site_run* run, u32 mechanism) {
    run->mechanism = mechanism;
    djs_mechanisms_used |= 1u << mechanism;
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("[%d: %s (%d)] ", (int)(run - djs_sites), why, error);
}

u32 djs_sites_failed_count(void) {
    u32 i, count = 0;

    for (i = 0; i < djs_script.site_count; i++)
        count += djs_sites[i].error != 0;
    return count;
}

const char* djs_site_shown(const struct djs_site* site) {
    static char shown[32];

    expect_lock(true);
    snprintf(shown, sizeof(shown), "site %d", (int)(site - djs_script.sites));
    return shown;
}

bool djs_at_fentry_site(const struct djs_site_run* run) {
    return told(run)->at_fentry;
}

void djs_direct_disarm_sharing(void) {
    bool any = false;
    u32 i;

    for (i = 0; i < djs_script.site_count; i++)
        any |= djs_sites[i].disarmed && told(&djs_sites[i])->shares;
    for (i = 0; i < djs_script.site_count; i++)
        djs_sites[i].disarmed |= any && told(&djs_sites[i])->shares;
}

void djs_conditions_evaluate(void) {
    u32 i;

    expect_lock(true);
    note("evaluate ");
    for (i = 0; i < djs_script.site_count; i++) {
        struct djs_site_run* run = &djs_sites[i];

        run->wanted = !run->absent && !run->disarmed && !told(run)->unwanted;
    }
}

int djs_ftrace_enabled(void) {
    note("enabled? ");
    return test_arming_enabled;
}

int djs_ftrace_enable(bool on) {
    note("enable(%d) ", on);
    return test_arming_enable_error;
}

int djs_ftrace_keep(void) {
    note("keep ");
    return test_arming_keep_error;
}

int djs_ftrace_let_go(void) {
    note("let-go ");
    return test_arming_let_go_error;
}

void djs_pin(u32 count, int error) {
    note("pin(%u, %d) ", count, error);
}

bool djs_pinned(void) {
    return test_arming_pinned;
}

int djs_modules_init(void) {
    note("modules ");
    return test_arming_modules_error;
}

void djs_modules_exit(void) {
    note("modules.exit ");
}

int djs_modules_follow(void) {
    expect_lock(true);
    note("follow ");
    return test_arming_follow_error;
}

void djs_modules_ignore(void) {
    expect_lock(true);
    note("ignore ");
}

bool djs_modules_followed(void) {
    expect_lock(true);
    return test_arming_followed;
}

int djs_livepatch_init(void) {
    note("livepatch ");
    return test_arming_livepatch_error;
}

void djs_livepatch_exit(void) {
    note("livepatch.exit ");
}

void djs_livepatch_watch(void) {
    note("watch ");
}

void djs_livepatch_ignore(void) {
    note("unwatch ");
}

void djs_overload_start(void (*take_out)(u32 owner, u32 percent)) {
    expect_lock(false);
    overload = take_out;
}

/* It waits for what disarms, which locks the sites. */
void djs_overload_stop(void) {
    expect_lock(false);
    note("stop ");
    overload = NULL;
}

void djs_inside_drain(void) {
    note("inside ");
}

void djs_user_places_report(void) {
    expect_lock(false);
    note("report ");
}

/* ---- what a test does ---- */

void test_arming_begin(void) {
    forget_sites(TEST_ARMING_SITES);
    memset(test_arming_sites, 0, sizeof(test_arming_sites));
    test_arming_log[0] = 0;
    test_arming_enabled = 1;
    test_arming_enable_error = test_arming_keep_error = test_arming_let_go_error = 0;
    test_arming_follow_error = test_arming_sites_error = test_arming_modules_error = 0;
    test_arming_livepatch_error = 0;
    test_arming_followed = true;
    test_arming_pinned = test_arming_unknown = test_arming_ftrace_dead = is_locked = false;
    djs_mechanisms_used = 0;
    overload = NULL;
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++) {
        struct test_arming_site* site = &test_arming_sites[i];
        struct djs_site_run* run = &djs_sites[i];

        *run = (struct djs_site_run){.site = &djs_script.sites[i],
                                     .image = site->image,
                                     .error = site->error,
                                     .probe = site->probe,
                                     .mechanism = site->mechanism,
                                     .fallback = site->fallback,
                                     .armed = site->armed,
                                     .wanted = site->wanted,
                                     .was_armed = site->was_armed,
                                     .absent = site->absent,
                                     .disarmed = site->disarmed,
                                     .data = site->has_data ? &site->probe : NULL,
                                     .missed = site->missed};
        if (site->mechanism < DJS_MECHANISM_COUNT)
            djs_mechanisms_used |= 1u << site->mechanism;
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        struct test_arming_site* site = &test_arming_sites[i];
        const struct djs_site_run* run = &djs_sites[i];

        site->error = run->error;
        site->probe = run->probe;
        site->mechanism = run->mechanism;
        site->fallback = run->fallback;
        site->armed = run->armed;
        site->wanted = run->wanted;
        site->was_armed = run->was_armed;
        site->disarmed = run->disarmed;
    }
}

int test_arming_init(void) {
    return djs_arming_init();
}

void test_arming_exit(void) {
    djs_arming_exit();
}

int test_arming_arm(void) {
    int error;

    tell_sites();
    error = djs_sites_arm();
    ask_sites();
    return error;
}

void test_arming_rearm(void) {
    tell_sites();
    djs_sites_rearm();
    ask_sites();
}

void test_arming_disarm(void) {
    tell_sites();
    djs_sites_disarm();
    ask_sites();
}

void test_arming_forget(u32 image) {
    tell_sites();
    djs_sites_lock();
    djs_sites_forget(image);
    djs_sites_unlock();
    ask_sites();
}

bool test_arming_overload(u32 owner, u32 percent) {
    if (!overload)
        return false;
    tell_sites();
    overload(owner, percent);
    ask_sites();
    return true;
}

u64 test_arming_missed(u32 site) {
    tell_sites();
    return djs_site_missed(&djs_sites[site]);
}

void test_arming_handlers_run(void) {
    djs_mechanisms_begin();
}

bool test_arming_is_locked(void) {
    return is_locked;
}
