// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "kernel_for_test.h"

/* What other sources have of this. */
#define djs_sites test_timer_sites
#define djs_run_handler test_timer_run_handler
#define djs_job_make test_timer_job_make
#define djs_job_start test_timer_job_start
#define djs_job_free test_timer_job_free
#include "log_for_test.h"
#include "timer_for_test.h"

char test_timer_log[1024];
#define note(text) log_for_test(test_timer_log, sizeof(test_timer_log), "%s\n", text)

bool test_timer_wanted[TEST_TIMERS], test_timer_armed[TEST_TIMERS], test_no_job;
u64 test_timer_random;
s64 test_timer_interval;

#define get_random_u64() test_timer_random
#define NSEC_PER_USEC 1000L
#define HRTIMER_MODE_REL_HARD 0
#define hrtimer_start(timer, interval, mode) (note("started"), test_timer_interval = (interval))
#define hrtimer_forward_now(timer, interval) (test_timer_interval = (interval))
#define hrtimer_cancel(timer) note("cancelled")

#include "timer/timer.c"

struct djs_job {
    int unused;
};
static struct djs_job job_of_test;

static struct djs_site_run runs_of_test[TEST_TIMERS];
struct djs_site_run* djs_sites = runs_of_test;

void djs_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                     struct pt_regs* regs) {
    note(handler == &djs_script.handlers[site->handler] && !regs ? "handler" : "another handler");
}

struct djs_job* djs_job_make(const struct djs_site* site) {
    return test_no_job ? NULL : &job_of_test;
}

void djs_job_start(struct djs_job* job) {
    note("job");
}

void djs_job_free(struct djs_job* job) {
    note(job ? "job ended" : "no job");
}

void test_timers_begin(void) {
    memset(runs_of_test, 0, sizeof(runs_of_test));
    memset(test_timer_wanted, 0, sizeof(test_timer_wanted));
    test_timer_log[0] = 0;
    test_timer_random = 0;
    test_timer_interval = 0;
    test_no_job = false;
}

static void tell_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        runs_of_test[i].site = &djs_script.sites[i];
        runs_of_test[i].mechanism = djs_script.sites[i].mechanism;
        runs_of_test[i].wanted = test_timer_wanted[i];
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++)
        test_timer_armed[i] = runs_of_test[i].armed && runs_of_test[i].data;
}

int test_timers_attach(void) {
    int error;

    tell_sites();
    error = djs_ops_timer.attach();
    ask_sites();
    return error;
}

void test_timers_disarm(void) {
    tell_sites();
    djs_ops_timer.disarm();
    ask_sites();
}

void test_timer_expires(int number) {
    struct djs_timer* timer = runs_of_test[number].data;

    if (timer->timer.function(&timer->timer) != HRTIMER_RESTART)
        note("for the last time");
}
