// SPDX-License-Identifier: GPL-2.0-or-later
// Probes that cannot be detached (runtime/sites/pin.c), in a module whose references are counted.
#include "kernel_for_test.h"

#include "linux/sched.h"

#include <limits.h>
#include <setjmp.h>

/* sites_for_test.c and others have their own. */
#define djs_pin test_pin
#define djs_pinned test_pinned
#define djs_pin_report test_pin_report
#define djs_pin_wait test_pin_wait
#define djs_ftrace_dead test_pin_ftrace_dead
#include "log_for_test.h"
#include "pin_for_test.h"

char test_pin_log[1024];
u32 test_pin_references;
bool test_pin_is_unloaded;
static u32 sleeps;
static jmp_buf ended;

static bool take_reference(void) {
    test_pin_references += !test_pin_is_unloaded;
    return !test_pin_is_unloaded;
}

/* It would sleep for ever. */
static void sleeps_on(long most) {
    test_may_sleep();
    if (most != LONG_MAX)
        abort();
    if (++sleeps == 3)
        longjmp(ended, 1);
}

#undef pr_err
#define pr_err(...) log_for_test(test_pin_log, sizeof(test_pin_log), __VA_ARGS__)
#undef try_module_get
#define try_module_get(module) ((void)(module), take_reference())
#undef MAX_SCHEDULE_TIMEOUT
#define MAX_SCHEDULE_TIMEOUT LONG_MAX
#undef schedule_timeout_idle
#define schedule_timeout_idle(most) sleeps_on(most)

#include "sites/pin.c"

bool test_pin_ftrace_dead;

u32 test_pin_sleeps(void) {
    sleeps = 0;
    if (!setjmp(ended))
        djs_pin_wait();
    return sleeps;
}

void test_pin_forget(void) {
    pinned_probes = reported_probes = test_pin_references = 0;
    holds_module = test_pin_is_unloaded = test_pin_ftrace_dead = false;
}
