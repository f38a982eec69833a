// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "kernel_for_test.h"

/* There is one processor. */
#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) type name
#undef per_cpu_ptr
#define per_cpu_ptr(pointer, cpu) (pointer)
#undef this_cpu_ptr
#define this_cpu_ptr(pointer) (pointer)
#define per_cpu(name, cpu) (name)
#define this_cpu_add(place, number) ((place) += (number))
#define alloc_percpu(type) ((type*)guarded_allocate(1, sizeof(type), 0))
#undef free_percpu
#define free_percpu(pointer) guarded_free(pointer)
/* What other sources have of this. */
#define djs_cpu test_overload_cpu
#define djs_session_message test_overload_message
#include "log_for_test.h"
#include "overload_for_test.h"

char test_overload_log[1024];
#define note(...) log_for_test(test_overload_log, sizeof(test_overload_log), __VA_ARGS__)

u64 test_overload_now;
bool test_has_registers, test_in_user_mode, test_in_softirq;
unsigned long test_interrupted, test_stack[TEST_STACK_WORDS];
struct djs_ctx test_contexts[4];
int test_hotplug_error;

struct pt_regs {
    unsigned long unused;
};
static struct pt_regs interrupted_registers;

static struct pt_regs* get_irq_regs(void) {
    return test_has_registers ? &interrupted_registers : NULL;
}

struct module_layout {
    void* base;
    unsigned int size, text_size;
};
struct module {
    struct module_layout core_layout;
};
static struct module module_of_test = {
    .core_layout = {(void*)TEST_TEXT, 2 * TEST_TEXT_BYTES, TEST_TEXT_BYTES},
};
#undef THIS_MODULE
#define THIS_MODULE (&module_of_test)

#define user_mode(registers) ((void)(registers), test_in_user_mode)
#define instruction_pointer(registers) ((void)(registers), test_interrupted)
#define kernel_stack_pointer(registers) ((void)(registers), (unsigned long)test_stack)
#define within_module(address, module)                                                             \
    ((address) - (unsigned long)(module)->core_layout.base < (module)->core_layout.size)
#define SOFTIRQ_OFFSET 256
#define preempt_count() (test_in_softirq ? SOFTIRQ_OFFSET : 0)

#define djs_cycles() test_overload_now

static struct work_struct* queued;
#undef queue_work
#define queue_work(queue, work) (note("work\n"), queued = (work))
#undef cancel_work_sync
#define cancel_work_sync(work) note("no work\n")

enum cpuhp_state { CPUHP_OFFLINE, CPUHP_AP_ONLINE_DYN };

static int cpuhp_setup_state(enum cpuhp_state state, const char* name,
                             int (*start)(unsigned int cpu), int (*stop)(unsigned int cpu));
static void cpuhp_remove_state(enum cpuhp_state state);

#define HRTIMER_MODE_REL_PINNED_HARD 0
static u32 test_times;
#define hrtimer_forward_now(timer, interval)                                                       \
    ((interval) == 10000000 ? test_times : (note("another interval\n"), 0))
#define hrtimer_start(timer, interval, mode) note("timer: %ld\n", (long)(interval))
#define hrtimer_cancel(timer) note("no timer\n")

#include "context/overload.c"

struct djs_cpu djs_cpu;

LOG_SESSION_MESSAGES(test_overload_log)

static int (*stops)(unsigned int cpu);

static int cpuhp_setup_state(enum cpuhp_state state, const char* name,
                             int (*start)(unsigned int cpu), int (*stop)(unsigned int cpu)) {
    stops = stop;
    if (test_hotplug_error)
        return test_hotplug_error;
    start(0);
    return 77;
}

static void cpuhp_remove_state(enum cpuhp_state state) {
    note("state %d\n", (int)state);
    stops(0);
}

void test_overload_reset(void) {
    memset(&accounts, 0, sizeof(accounts));
    memset(test_contexts, 0, sizeof(test_contexts));
    memset(test_stack, 0, sizeof(test_stack));
    atomic_set(&overloading, (int)SEEN_NOBODY);
    djs_cpu.contexts = test_contexts;
    queued = NULL;
    test_overload_now = 1000000;
    test_has_registers = true;
    test_in_user_mode = test_in_softirq = false;
    test_interrupted = 0;
    test_hotplug_error = 0;
    test_overload_log[0] = 0;
}

void test_overload_sample(u32 times) {
    test_times = times;
    if (sample(&samplers->timer) != HRTIMER_RESTART)
        note("the last sample\n");
}

void test_overload_work(void) {
    if (queued)
        queued->run(queued);
    queued = NULL;
}
