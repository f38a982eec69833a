// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>

#include "kernel_for_test.h"

#include "linux/mutex.h"

#include "capi_for_test.h"
#include "instructions_for_test.h"
#include "log_for_test.h"

char test_capi_log[2048];

#define note(...) log_for_test(test_capi_log, sizeof(test_capi_log), __VA_ARGS__)

#define PROCESSORS 2
u32 test_preempt_count, test_processor;

#define DEFINE_PER_CPU(type, name) __typeof__(type) name
#define this_cpu_read(place) (place)
#define this_cpu_write(place, value) ((place) = (value))
#define this_cpu_inc(place) ((&(place))[test_processor]++)
#define alloc_percpu(type) ((type*)guarded_allocate(PROCESSORS, sizeof(type), 0))
#undef free_percpu
#define free_percpu(pointer) guarded_free(pointer)
#undef per_cpu_ptr
#define per_cpu_ptr(pointer, cpu) ((pointer) + (cpu))
#undef for_each_possible_cpu
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < PROCESSORS; (cpu)++)
#undef mutex_lock
#define mutex_lock(mutex) (note("locked\n"), test_mutex_lock(mutex))
#undef mutex_unlock
#define mutex_unlock(mutex) (note("unlocked\n"), test_mutex_unlock(mutex))

#define __kprobes
#define asmlinkage
#define SOFTIRQ_OFFSET TEST_SOFTIRQ
#define HARDIRQ_MASK (15 * TEST_INTERRUPT)
#define NMI_MASK (15 * TEST_NMI)
#define preempt_count() test_preempt_count

static jmp_buf never;
static void schedule_timeout_idle(long time) {
    longjmp(never, 1);
}
#define MAX_SCHEDULE_TIMEOUT 0
#define MODULE_STATE_LIVE 0
struct module {
    const char* name;
    int state;
};
static struct module module_of_test = {.name = "module"};
#undef THIS_MODULE
#define THIS_MODULE (&module_of_test)
#define try_module_get(module) (note("reference\n"), true)
#undef pr_err
#define pr_err(...) note(__VA_ARGS__)

struct kprobe {
    const char* symbol_name;
    unsigned int flags;
    char* addr;
};
#define KPROBE_FLAG_DISABLED 2
static int register_kprobe(struct kprobe* kprobe);
static void unregister_kprobe(struct kprobe* kprobe) {
    note("no kprobe\n");
}

/* groups_for_test.c has the others. */
#define ftrace_set_filter_ips test_capi_set_filter
#define ftrace_free_filter test_capi_free_filter
#define djs_ftrace_enabled test_capi_ftrace_enabled
#define djs_direct_room test_capi_direct_room
#define djs_direct_lock test_capi_direct_lock
#define djs_direct_unlock test_capi_direct_unlock
#define FTRACE_OPS_FL_ENABLED 1
struct ftrace_ops;
static int register_ftrace_direct(struct ftrace_ops* ops, unsigned long callee);
static int unregister_ftrace_function(struct ftrace_ops* ops);
static void unregister_ftrace_direct(struct ftrace_ops* ops, unsigned long callee, bool free);
#define synchronize_rcu() note("drain\n")

void djprobe_entry(void);
static inline unsigned long djs_callee(const u8* text, unsigned long address) {
    return djs_is_call(text) ? (unsigned long)djprobe_entry : 0;
}

#include "capi/djprobe.c"

struct test_djprobe test_djprobes[TEST_DJPROBES];
int test_handler_calls;
u32 test_handler_level;
int test_capi_enabled, test_filter_fails, test_direct_fails, test_unregister_fails;
u32 test_direct_room;
bool test_calls_stay, test_module_is_live;

static char texts[TEST_DJPROBES][16];
static const char* const names[TEST_DJPROBES] = {"zero", "one", "two", "three"};
static struct djprobe probes_of_test[TEST_DJPROBES];

static unsigned long filter[TEST_DJPROBES];
static unsigned int filter_count;
static const struct ftrace_ops* filtered;

void djprobe_entry(void) {}

static int register_kprobe(struct kprobe* kprobe) {
    int i;

    if (!(kprobe->flags & KPROBE_FLAG_DISABLED))
        note("a kprobe that is armed\n");
    for (i = 0; i < TEST_DJPROBES - 1; i++)
        if (!strcmp(kprobe->symbol_name, names[i]))
            break;
    if (!test_djprobes[i].unknown)
        kprobe->addr = texts[i];
    return test_djprobes[i].unknown;
}

int ftrace_set_filter_ips(struct ftrace_ops* ops, unsigned long* addresses, unsigned int count,
                          int remove, int reset) {
    if (remove || reset)
        note("other functions\n");
    filtered = ops;
    filter_count = count;
    memcpy(filter, addresses, count * sizeof(*addresses));
    return test_filter_fails;
}

void ftrace_free_filter(struct ftrace_ops* ops) {
    if (filtered == ops)
        note("filter freed\n");
    filtered = NULL;
}

static int register_ftrace_direct(struct ftrace_ops* ops, unsigned long callee) {
    unsigned int i;

    note("direct call of %u\n", filter_count);
    if (callee != (unsigned long)djprobe_entry)
        note("of another function\n");
    ops->flags = 2; /* whatever they were */
    for (i = 0; i < filter_count && !test_direct_fails; i++)
        memcpy((void*)filter[i], "calls", DJS_CALL_BYTES);
    return test_direct_fails;
}

static int unregister_ftrace_function(struct ftrace_ops* ops) {
    const struct djprobe_set* set = (const struct djprobe_set*)ops; /* its first member */
    int i;

    if (ops->flags != (2 | FTRACE_OPS_FL_PERMANENT))
        note("it could be switched off\n");
    for (i = 0; i < set->count && !test_unregister_fails && !test_calls_stay; i++)
        memcpy((void*)set->entries[i].site, "no-op", DJS_CALL_BYTES);
    return test_unregister_fails;
}

static void unregister_ftrace_direct(struct ftrace_ops* ops, unsigned long callee, bool free) {
    note("no direct call\n");
    if (!(ops->flags & FTRACE_OPS_FL_ENABLED) || callee != (unsigned long)djprobe_entry || free)
        note("the kernel's table keeps it\n");
}

int djs_ftrace_enabled(void) {
    return test_capi_enabled;
}

u32 djs_direct_room(unsigned long symbol, u32 own) {
    note("room beside %u\n", own);
    return symbol ? 0 : test_direct_room;
}

struct file* djs_direct_lock(void) {
    note("table locked\n");
    return (struct file*)texts;
}

void djs_direct_unlock(struct file* lock) {
    note(lock == (struct file*)texts ? "table unlocked\n" : "another lock\n");
}

static void hit(struct djprobe* probe, struct pt_regs* regs) {
    const u32 before = test_preempt_count;
    const int calls = test_handler_calls;

    test_djprobes[probe - probes_of_test].hits++;
    if (calls < 0)
        return;
    test_handler_calls = -1;
    test_preempt_count = test_handler_level;
    test_capi_call(calls);
    test_preempt_count = before;
    test_handler_calls = calls;
}

/* Sets that the kernel keeps calling, which only the end of a test frees. */
static struct djprobe_set* kept[TEST_DJPROBES];
static u32 kept_count;

void test_capi_begin(void) {
    int i;

    test_unregister_fails = 0;
    test_calls_stay = false;
    for (i = 0; i < TEST_DJPROBES; i++)
        if (probes_of_test[i].set)
            unregister_djprobe(&probes_of_test[i]);
    while (kept_count)
        guarded_free(kept[--kept_count]);
    filtered = NULL;
    memset(test_djprobes, 0, sizeof(test_djprobes));
    memset(probes_of_test, 0, sizeof(probes_of_test));
    memset(sites, 0, sizeof(sites));
    memset(active, 0, sizeof(active));
    registered = 0;
    test_preempt_count = test_processor = 0;
    test_handler_calls = -1;
    test_handler_level = 0;
    test_capi_enabled = 1;
    test_filter_fails = test_direct_fails = 0;
    test_direct_room = 100;
    test_module_is_live = true;
    test_capi_log[0] = 0;
}

static unsigned long site_of_test(int number) {
    return (unsigned long)texts[number] +
           (test_djprobes[number].begins_with ? DJS_LANDING_PAD_MAX : 0);
}

static void tell_probes(void) {
    int i;

    for (i = 0; i < TEST_DJPROBES; i++) {
        const struct test_djprobe* probe = &test_djprobes[i];

        if (!probes_of_test[i].set) {
            snprintf(texts[i], sizeof(texts[i]), "%sno-op",
                     probe->begins_with ? probe->begins_with : "");
            probes_of_test[i].symbol = probe->has_symbol ? names[i] : NULL;
            probes_of_test[i].address = 0;
            if (probe->has_address)
                probes_of_test[i].address = (unsigned long)texts[i];
            if (probe->at_zero)
                probes_of_test[i].address = (unsigned long)texts[0];
            if (probe->unreadable)
                probes_of_test[i].address = 16;
            probes_of_test[i].handler = probe->has_handler ? hit : NULL;
        }
    }
    module_of_test.state = test_module_is_live ? MODULE_STATE_LIVE : MODULE_STATE_LIVE + 1;
}

static void ask_probes(void) {
    int i;

    for (i = 0; i < TEST_DJPROBES; i++)
        test_djprobes[i].is_registered = probes_of_test[i].set && probes_of_test[i].missed;
}

int test_capi_register(const int* numbers, int count) {
    struct djprobe* list[TEST_DJPROBES];
    int i, error;

    tell_probes();
    for (i = 0; i < count; i++)
        list[i] = &probes_of_test[numbers[i]];
    error = count == 1 ? register_djprobe(list[0]) : register_djprobes(list, count);
    ask_probes();
    return error;
}

bool test_capi_unregister(int number) {
    tell_probes();
    if (test_unregister_fails || test_calls_stay)
        kept[kept_count++] = probes_of_test[number].set;
    if (setjmp(never))
        return false;
    unregister_djprobe(&probes_of_test[number]);
    ask_probes();
    return true;
}

unsigned long test_capi_missed(int number) {
    return djprobe_missed(&probes_of_test[number]);
}

void test_capi_call(int number) {
    struct pt_regs regs = {0};
    unsigned long frame = site_of_test(number);

    if (djs_is_call((const u8*)frame))
        djprobe_hit(&regs, &frame);
}
