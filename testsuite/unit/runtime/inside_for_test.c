// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

/* What other sources have of this. */
#define djs_session_message test_inside_message
#define djs_cpu_sum test_inside_sum
#define djs_gate test_inside_gate
#include "inside_for_test.h"
#include "log_for_test.h"

char test_inside_log[2048];
#define note(...) log_for_test(test_inside_log, sizeof(test_inside_log), __VA_ARGS__)

unsigned long test_inside_now;
void (*test_inside_slept)(void);
void (*test_inside_drained)(void);
s64 test_calls_inside, test_calls_of_current;
bool test_anybody_inside, test_last_found_inside, test_module_goes;
u32 test_inside_gate;

static void sleep_for(unsigned long ms) {
    test_inside_now += ms;
    if (test_inside_slept)
        test_inside_slept();
}

static void wait_for_handlers(void) {
    note("drain\n");
    if (test_inside_drained)
        test_inside_drained();
}

static bool take_reference(void) {
    note(test_module_goes ? "no reference\n" : "reference\n");
    return !test_module_goes;
}

struct delayed_work {
    void (*run)(struct work_struct* work);
};
#define DECLARE_DELAYED_WORK(name, function) struct delayed_work name = {function}
#define queue_delayed_work(queue, work, delay) note("later: %lu\n", (unsigned long)(delay))
#define cancel_delayed_work_sync(work) note("cancel\n")
#define jiffies test_inside_now
#define msecs_to_jiffies(ms) (ms)
#define time_before(a, b) ((long)((a) - (b)) < 0)
#define schedule_timeout_idle(time) sleep_for(time)
#define try_module_get(module) take_reference()
#define module_put(module) note("reference given back\n")
#define synchronize_rcu() wait_for_handlers()
#undef pr_warn
#define pr_warn(...) note(__VA_ARGS__)

#include "djprobe/inside.c"

LOG_SESSION_MESSAGES(test_inside_log)

u64 djs_cpu_sum(size_t field_offset) {
    return field_offset == offsetof(struct djs_cpu, inside) ? (u64)test_calls_inside : 12345;
}

bool djs_anybody_inside(void) {
    note("look\n");
    return test_anybody_inside;
}

bool djs_last_found_inside(void) {
    note("peek\n");
    return test_last_found_inside;
}

void djs_forget_last_found(void) {
    note("forget\n");
}

s64 djs_calls_of_current(void) {
    return test_calls_of_current;
}

void djs_name_inside(char* text, size_t size) {
    snprintf(text, size, ": sleep (7)");
}

void test_inside_begin(void) {
    returns_attached = lingering = false;
    calls_ended = 0;
    look_ms = LOOK_MS;
    test_inside_log[0] = 0;
    test_inside_now = 1000;
    test_inside_slept = test_inside_drained = NULL;
    test_calls_inside = test_calls_of_current = 0;
    test_anybody_inside = test_last_found_inside = test_module_goes = false;
    test_inside_gate = 0;
}

void test_linger_work(void) {
    linger_work.run(NULL);
}
