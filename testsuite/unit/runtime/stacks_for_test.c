// SPDX-License-Identifier: GPL-2.0-or-later
#define djs_biases test_stacks_biases
#include "kernel_for_test.h"

#include "instructions_for_test.h"

#define CONFIG_SMP 1
#define CONFIG_UNWINDER_ORC 1
/* What other sources have of this. */
#define djs_sites test_stacks_sites
#define djs_anybody_inside test_stacks_anybody_inside
#define djs_last_found_inside test_stacks_last_found_inside
#define djs_forget_last_found test_stacks_forget_last_found
#define djs_calls_of_current test_stacks_calls_of_current
#define djs_name_inside test_stacks_name_inside
#define test_next_task test_stacks_next_task
#define pid_task test_stacks_pid_task

#include "linux/pid.h"
#include "linux/rcupdate.h"
#include "linux/sched/signal.h"

#include "stacks_for_test.h"

/* The memory of modules: this one's has a call for each kind, another one's follows. */
enum { KINDS = TEST_CALLS_OF_OTHERS + 1, BYTES = 8 };
static u8 modules_text[KINDS][BYTES];
#define MODULES_VADDR ((unsigned long)modules_text)
#define MODULES_END ((unsigned long)(modules_text + KINDS))
#define within_module(address, module)                                                             \
    ((address) >= MODULES_VADDR && (address) < (unsigned long)modules_text[TEST_CALLS_OF_OTHERS])
static unsigned long djs_callee(const u8* text, unsigned long address);
#define THREAD_SIZE (TEST_WORDS_OF_STACK * sizeof(u64))
static long read_stack(void* to, const void* from, size_t bytes);
#undef copy_from_kernel_nofault
#define copy_from_kernel_nofault(to, from, bytes) read_stack(to, from, bytes)
static bool user_mode(const struct pt_regs* regs);
static bool pid_alive(const struct task_struct* task);
static struct pid* task_pid(struct task_struct* task);
static struct pid* get_pid(struct pid* pid);
static void put_pid(struct pid* pid);
static int scnprintf(char* to, size_t size, const char* format, ...)
    __attribute__((__format__(__printf__, 3, 4)));
#undef cond_resched
static void cond_resched(void);

#include "djprobe/stacks.c"

struct test_stack test_stacks[TEST_STACKS];
u32 test_stack_rests, test_stack_exits;

static struct task_struct tasks_of_test[TEST_STACKS];
static struct djs_site_run runs_of_test[3]; /* the last one is behind the end */
struct djs_site_run* djs_sites = runs_of_test;
static unsigned long biases_of_test[1] = {0x1000};
unsigned long* djs_biases = biases_of_test;
static int pid_references;

static int scnprintf(char* to, size_t size, const char* format, ...) {
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length < (int)size ? length : (int)size - 1;
}

static u32 number_of(const struct task_struct* task) {
    return (u32)(task - tasks_of_test);
}

/* ---- the kernel ---- */

static unsigned long djs_callee(const u8* text, unsigned long address) {
    switch ((address - MODULES_VADDR) / BYTES) {
    case TEST_CALLS_SITE:
        return djs_sites[1].address + DJS_CALL_BYTES;
    case TEST_CALLS_ELSEWHERE:
        return (unsigned long)djs_script.elsewhere;
    case TEST_CALLS_OTHER:
        return test_stack_other_callee();
    case TEST_CALLS_BEHIND:
        return djs_sites[1].address;
    default:
        return (unsigned long)djs_script.trampolines[1].dispatch;
    }
}

u64 test_stack_return(enum test_call call) {
    return (u64)modules_text[call] + DJS_CALL_BYTES;
}

u64 test_stack_other_callee(void) {
    return MODULES_VADDR + 1;
}

static bool is_stack(const char* at) {
    return at >= (char*)test_stacks && at < (char*)(test_stacks + TEST_STACKS);
}

/* As the kernel, it has read some of it when it finds that it cannot. */
static long read_stack(void* to, const void* from, size_t bytes) {
    memcpy(to, from, bytes);
    if (is_stack(from) &&
        test_stacks[((char*)from - (char*)test_stacks) / sizeof(*test_stacks)].is_unreadable)
        return -EFAULT;
    return 0;
}

void* task_stack_page(const struct task_struct* task) {
    struct test_stack* stack = &test_stacks[number_of(task)];

    return stack->has_no_stack ? NULL : stack->words;
}

struct task_struct* test_next_task(struct task_struct* task) {
    u32 i = task ? number_of(task) + 1 : 0;

    if (!test_rcu_depth)
        abort();
    while (i < TEST_STACKS && !test_stacks[i].exists)
        i++;
    return i < TEST_STACKS ? &tasks_of_test[i] : NULL;
}

static void cond_resched(void) {
    test_may_sleep();
    test_stack_rests++;
    if (test_stack_exits)
        test_stacks[test_stack_exits].is_exiting = true;
}

static bool pid_alive(const struct task_struct* task) {
    if (!task->references) /* it may be gone */
        abort();
    return !test_stacks[number_of(task)].is_exiting;
}

static struct pid* task_pid(struct task_struct* task) {
    return test_stacks[number_of(task)].is_exiting ? NULL : (struct pid*)task;
}

static struct pid* get_pid(struct pid* pid) {
    pid_references += pid != NULL;
    return pid;
}

static void put_pid(struct pid* pid) {
    if (pid)
        test_put(&pid_references);
}

struct task_struct* pid_task(struct pid* pid, enum pid_type type) {
    struct task_struct* task = (struct task_struct*)pid;

    if (!test_rcu_depth)
        abort();
    return task && !test_stacks[number_of(task)].is_exiting ? task : NULL;
}

static const struct test_stack_frame* frame_of(const struct unwind_state* state) {
    return &test_stacks[number_of(state->task)].frames[state->at];
}

void unwind_start(struct unwind_state* state, struct task_struct* task, struct pt_regs* regs,
                  unsigned long* frame) {
    if (task != test_current && !task->pi_lock.is_held) /* it runs meanwhile */
        abort();
    *state = (struct unwind_state){task, 0};
}

bool unwind_done(const struct unwind_state* state) {
    return state->at == TEST_STACK_FRAMES || (!frame_of(state)->address && !frame_of(state)->regs);
}

bool unwind_next_frame(struct unwind_state* state) {
    state->at++;
    return !unwind_done(state);
}

bool unwind_error(const struct unwind_state* state) {
    return test_stacks[number_of(state->task)].unwind_fails;
}

struct pt_regs* unwind_get_entry_regs(const struct unwind_state* state, bool* partial) {
    return (struct pt_regs*)(long)frame_of(state)->regs;
}

unsigned long unwind_get_return_address(const struct unwind_state* state) {
    return frame_of(state)->address;
}

static bool user_mode(const struct pt_regs* regs) {
    return regs == (struct pt_regs*)2;
}

/* ---- what a test does ---- */

void test_stacks_begin(void) {
    u32 i;

    memset(test_stacks, 0, sizeof(test_stacks));
    memset(tasks_of_test, 0, sizeof(tasks_of_test));
    for (i = 0; i < TEST_STACKS; i++)
        raw_spin_lock_init(&tasks_of_test[i].pi_lock);
    for (i = 0; i < KINDS; i++)
        modules_text[i][0] = i == TEST_CALLS_NOTHING ? '-' : 'c';
    for (i = 0; i < 2; i++)
        runs_of_test[i].address = 0x8000 + 0x100 * i;
    runs_of_test[2].address = runs_of_test[1].address - DJS_CALL_BYTES;
    test_stack_rests = test_stack_exits = 0;
    test_stacks_be(0);
}

static void tell_tasks(void) {
    u32 i;

    for (i = 0; i < TEST_STACKS; i++) {
        const struct test_stack* stack = &test_stacks[i];
        struct task_struct* task = &tasks_of_test[i];

        task->pid = (pid_t)(100 + i);
        task->group_leader = task;
        task->__state = stack->state;
        task->on_cpu = stack->on_cpu;
        task->on_rq = stack->on_rq;
        snprintf(task->comm, sizeof(task->comm), "%s", stack->name ? stack->name : "");
    }
}

void test_stacks_be(u32 number) {
    tell_tasks();
    test_current = &tasks_of_test[number];
}

const char* test_name_inside(size_t size) {
    static char text[256];

    memset(text, '-', sizeof(text));
    tell_tasks();
    djs_name_inside(text, size);
    return text;
}

u32 test_stack_references(void) {
    u32 i, sum = (u32)pid_references;

    for (i = 0; i < TEST_STACKS; i++)
        sum += (u32)tasks_of_test[i].references;
    return sum;
}
