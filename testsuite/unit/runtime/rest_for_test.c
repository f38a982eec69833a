// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

/* There is one processor. */
#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_read(place) (place)
#define this_cpu_write(place, value) ((void)((place) = (value)))
/* What other sources have of this. */
#define djs_cpu test_rest_cpu
#define djs_fail test_rest_fail
#define djs_locks_take test_rest_take
#define djs_locks_release test_rest_release
#define djs_rest test_rest
#define djs_task_lock test_rest_lock
#define djs_task_unlock test_rest_unlock
#include "linux/sched.h"

#include "log_for_test.h"
#include "rest_for_test.h"

char test_rest_log[1024];
#define note(...) log_for_test(test_rest_log, sizeof(test_rest_log), __VA_ARGS__)

struct djs_ctx test_rest_context;
unsigned long test_rest_irqs;
u32 test_rest_refused;
bool test_rest_is_killed;

#undef raw_local_irq_save
#define raw_local_irq_save(flags)                                                                  \
    (note("off "), (void)((flags) = test_rest_irqs), (void)(test_rest_irqs = TEST_REST_IRQS_OFF))
#undef raw_local_irq_restore
#define raw_local_irq_restore(flags) (note("restored "), (void)(test_rest_irqs = (flags)))
#undef barrier
#define barrier() note("barrier(%#x) ", test_rest_context.busy)
#undef cpu_relax
#define cpu_relax() note("relax ")
#undef cond_resched
#define cond_resched() yield_cpu()
#undef fatal_signal_pending
#define fatal_signal_pending(task) ((void)(task), test_rest_is_killed)
static struct task_struct task_of_test;
#undef current
#define current (&task_of_test)

/* Whoever does that with interrupts disabled, or with the context of another one, ends the test. */
static void yield_cpu(void) {
    test_may_sleep();
    if (test_rest_irqs != TEST_REST_IRQS_ON)
        abort();
    note("yields(%#x) ", test_rest_context.busy);
}

void djs_fail(struct djs_ctx* ctx, const char* message, u32 place);

#include "globals/rest.c"

struct djs_cpu djs_cpu;

void djs_fail(struct djs_ctx* ctx, const char* message, u32 place) {
    ctx->error = message;
    ctx->error_place = place;
}

static void expect_context(const struct djs_handler* handler) {
    if (test_rest_irqs != TEST_REST_IRQS_OFF || test_rest_context.handler != handler)
        abort();
}

bool djs_locks_take(const struct djs_handler* handler, bool nmi) {
    expect_context(handler);
    note("%s(%#x) ", nmi ? "try" : "wait", test_rest_context.busy);
    if (!test_rest_refused)
        return true;
    test_rest_refused--;
    return false;
}

void djs_locks_release(const struct djs_handler* handler) {
    expect_context(handler);
    note("release(%#x) ", test_rest_context.busy);
}

void test_rest_begin(void) {
    memset(&test_rest_context, 0, sizeof(test_rest_context));
    memset(&djs_cpu, 0, sizeof(djs_cpu));
    djs_cpu.contexts = &test_rest_context;
    test_rest_log[0] = 0;
    test_rest_irqs = TEST_REST_IRQS_ON;
    test_rest_refused = 0;
    test_rest_is_killed = false;
}
