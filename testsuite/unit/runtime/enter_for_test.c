// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>

#include "kernel_for_test.h"

/* There are two processors, of which one runs. */
#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_read(place) (place)
#define this_cpu_inc(place) ((void)(place)++)
#define per_cpu(name, cpu) (*((cpu) ? &other_cpu : &(name)))
#define per_cpu_offset(cpu) (1000 + (cpu))
#define cpu_to_node(cpu) (cpu)
#undef num_possible_cpus
#define num_possible_cpus() 2
#undef for_each_possible_cpu
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 2; (cpu)++)
/* What other sources have of this, and what the tests of others have. */
#define djs_cpu test_enter_cpu
#define djs_gate test_enter_gate
#define djs_session_ctx test_enter_session
#define djs_locked_skips test_enter_locked_skips
#define djs_contexts_init test_contexts_init
#define djs_contexts_exit test_contexts_exit
#define djs_context_make test_enter_context_make
#define djs_enter test_enter_context
#define djs_leave test_leave_context
#define djs_lock_enter test_lock_enter
#define djs_lock_wait test_lock_wait
#define djs_lock_leave test_lock_leave
#define djs_lacks_stack test_lacks_stack
#define djs_fail test_fail
#define djs_fail_alone test_fail_alone
#define djs_run_handler test_enter_run_handler
#define djs_run_handler_at test_enter_run_handler_at
#define djs_tasks_init test_enter_tasks_init
#define djs_tasks_exit test_enter_tasks_exit
#define djs_overload_begin test_enter_overload_begin
#define djs_overload_end test_enter_overload_end
#define djs_request_exit test_enter_request_exit
#define djs_report_error test_enter_report_error
#define djs_locks_take test_enter_locks_take
#define djs_locks_release test_enter_locks_release
#include "enter_for_test.h"
#include "log_for_test.h"

char test_enter_log[1024];
#define note(...) log_for_test(test_enter_log, sizeof(test_enter_log), __VA_ARGS__)

u32 test_level;
bool test_irqs_off, test_stack_is_ample, test_locks_free, test_locks_free_later;
bool test_measures_time, test_enter_memory;
int test_preemption_off;
unsigned long test_stack_left;
u32 test_enter_gate;

#define kcalloc_node(count, size, flags, node) guarded_allocate(count, size, 0)

/* In place of cpu/level.h, cpu/memory.h, cpu/stack.h and globals/locks.h. */
#define DJSTAP_LEVEL_H
#define DJSTAP_MEMORY_H
#define DJSTAP_STACK_H
#define DJSTAP_LOCKS_H
#define DJS_INTERRUPT_MASK 0xff
#define djs_level() test_level
#define djs_in_nmi() (test_level == 3)
#define preempt_count() ((int)test_level)
#define djs_stack_is_ample() test_stack_is_ample
#define djs_stack_left() test_stack_left
#define DJS_IRQS_ON TEST_IRQS_ON
#define DJS_IRQS_OFF TEST_IRQS_OFF
#define BIT_ULL(number) (1ull << (number))
#define raw_irqs_disabled() test_irqs_off
#define raw_local_irq_disable() ((void)(test_irqs_off = true))
#define raw_local_irq_enable() ((void)(test_irqs_off = false))
#undef raw_local_irq_restore
#define raw_local_irq_restore(flags) ((void)(test_irqs_off = !((flags) & TEST_IRQS_ON)))
#undef preempt_disable_notrace
#define preempt_disable_notrace() ((void)test_preemption_off++)
#undef preempt_enable_notrace
#define preempt_enable_notrace() ((void)test_preemption_off--)

static bool djs_memory_allows(u64 bytes) {
    note("%llu bytes\n", (unsigned long long)bytes);
    return test_enter_memory;
}

static bool djs_locks_take_quickly(const struct djs_handler* handler) {
    return test_locks_free && handler->lock_count == 1;
}

static bool djs_locks_release_quickly(const struct djs_handler* handler) {
    if (handler->lock_count == 1)
        note("released\n");
    return handler->lock_count == 1;
}

struct pt_regs {
    bool user;
};
#define user_mode(registers) ((registers)->user)

#include "state/state.h"

static struct djs_cpu other_cpu;

#undef static_assert
#define static_assert(condition) _Static_assert(condition, #condition) /* as in the kernel */
#include "context/enter.c"

struct djs_cpu djs_cpu;
struct djs_ctx djs_session_ctx;

static void* memory_of_tasks;

int djs_tasks_init(void) {
    memory_of_tasks = guarded_allocate(1, 1, 0);
    return memory_of_tasks ? 0 : -ENOMEM;
}

void djs_tasks_exit(void) {
    guarded_free(memory_of_tasks);
    memory_of_tasks = NULL;
}

bool djs_overload_begin(void) {
    if (test_measures_time)
        note("time begins\n");
    return test_measures_time;
}

void djs_overload_end(const struct djs_handler* handler) {
    note("time ends%s\n", test_irqs_off ? "" : " with interrupts");
}

void djs_request_exit(bool error) {
    note(error ? "exit\n" : "exit without an error\n");
}

void djs_report_error(struct djs_ctx* ctx) {
    note("error: %s %u%s\n", ctx->error, ctx->error_place,
         test_preemption_off ? "" : ", preemptible");
}

bool djs_locks_take(const struct djs_handler* handler, bool nmi) {
    note(nmi ? "try locks\n" : "wait for locks\n");
    return test_locks_free_later;
}

void djs_locks_release(const struct djs_handler* handler) {
    note("released slowly\n");
}

void test_processor_begin(void) {
    memset(&djs_cpu, 0, sizeof(djs_cpu));
    memset(&other_cpu, 0, sizeof(other_cpu));
    memset(&djs_session_ctx, 0, sizeof(djs_session_ctx));
    test_enter_gate = DJS_HANDLER_IRQS_OFF;
    djs_locked_skips.counter = 0;
    test_level = 0;
    test_irqs_off = test_measures_time = test_locks_free_later = false;
    test_stack_is_ample = test_locks_free = test_enter_memory = true;
    test_preemption_off = 0;
    test_stack_left = 1000;
    test_enter_log[0] = 0;
}

struct djs_ctx* test_context(u32 level) {
    return level < DJS_LEVELS ? &djs_cpu.contexts[level] : &other_cpu.contexts[level - DJS_LEVELS];
}

struct djs_ctx* test_context_of_session(void) {
    return &djs_session_ctx;
}

u64 test_skipped_busy(void) {
    return djs_cpu.skipped_busy;
}

u64 test_skipped_locked(void) {
    return djs_cpu.skipped_locked;
}

u64 test_skipped_stack(void) {
    return djs_cpu.skipped_stack;
}

void test_lock_alone(bool held) {
    djs_cpu.locked_alone = held;
}

unsigned long test_variables(u32 cpu) {
    return per_cpu(djs_cpu, cpu).variables;
}

void test_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                      bool has_registers, bool user) {
    struct pt_regs regs = {.user = user};

    djs_run_handler(handler, site, has_registers ? &regs : NULL);
}
