// SPDX-License-Identifier: GPL-2.0-or-later
// Loops with and without markers, for scripts/bench markers. Writing a loop's name to the parameter
// `run` runs it with interrupts disabled; `took` is then the least that it took. Writing a name to
// `connect` connects a C function to all markers, and to the tracepoint.
#include <asm/msr.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <djstap/marker.h>

#define TRIES 5
#define COPIED 4096

DECLARE_TRACE(bench_point, TP_PROTO(int value, void* pointer), TP_ARGS(value, pointer));
DEFINE_TRACE(bench_point, TP_PROTO(int value, void* pointer), TP_ARGS(value, pointer));

static unsigned int iterations = 1000;
module_param(iterations, uint, 0600);

static char source[COPIED], target[COPIED];

// ---- the loops ----------------------------------------------------------------------------------

static noinline notrace void copy(void) {
    memcpy(target, source, COPIED);
    barrier();
}

// Can be probed.
static noinline void probed(int value, void* pointer) {
    asm volatile("" : : "r"(value), "r"(pointer));
}

// The same, but for the no-op at its entry.
static noinline notrace void not_probed(int value, void* pointer) {
    asm volatile("" : : "r"(value), "r"(pointer));
}

#define LOOP(name, work, mark)                                                                     \
    static noinline notrace void name(int count) {                                                 \
        int i;                                                                                     \
                                                                                                   \
        for (i = 0; i < count; i++) {                                                              \
            asm volatile("" : "+r"(i));                                                            \
            work;                                                                                  \
            mark;                                                                                  \
        }                                                                                          \
    }

// Each loop needs markers with names of their own, so that a script can probe one loop.
#define LOOPS(name, work)                                                                          \
    LOOP(name##_none, work, )                                                                      \
    LOOP(name##_optimized, work, DJSTAP_MARK(name##_optimized, "%d %p", i, source))                \
    LOOP(name##_optimized_nopreempt, work,                                                         \
         DJSTAP_MARK_NOPREEMPT(name##_optimized_nopreempt, "%d %p", i, source))                    \
    LOOP(name##_generic, work, DJSTAP_MARK_GENERIC(name##_generic, "%d %p", i, source))            \
    LOOP(name##_generic_nopreempt, work,                                                           \
         DJSTAP_MARK_GENERIC_NOPREEMPT(name##_generic_nopreempt, "%d %p", i, source))              \
    LOOP(name##_tracepoint, work, trace_bench_point(i, source))

LOOPS(empty, )
LOOPS(copy, copy())
LOOP(call_none, not_probed(i, source), )
LOOP(call_function, probed(i, source), )

#define ROW(name) {#name, name}
#define ROWS(name)                                                                                 \
    ROW(name##_none), ROW(name##_optimized), ROW(name##_optimized_nopreempt), ROW(name##_generic), \
        ROW(name##_generic_nopreempt), ROW(name##_tracepoint)

static const struct loop {
    const char* name;
    void (*run)(int count);
} loops[] = {ROWS(empty), ROWS(copy), ROW(call_none), ROW(call_function)};

// ---- measuring ----------------------------------------------------------------------------------

// Of the fastest try: ticks of the processor's clock, which is the number of instructions if the
// emulator counts them, and nanoseconds of the kernel's.
static u64 ticks, nanoseconds;

static void measure(const struct loop* loop) {
    unsigned long flags;
    u64 began, clock;
    int i;

    ticks = nanoseconds = U64_MAX;
    for (i = 0; i < TRIES; i++) {
        local_irq_save(flags);
        clock = ktime_get_ns();
        began = rdtsc_ordered();
        loop->run(iterations);
        ticks = min(ticks, rdtsc_ordered() - began);
        nanoseconds = min(nanoseconds, ktime_get_ns() - clock);
        local_irq_restore(flags);
    }
}

static int run(const char* text, const struct kernel_param* parameter) {
    int i;

    for (i = 0; i < ARRAY_SIZE(loops); i++) {
        if (sysfs_streq(text, loops[i].name)) {
            measure(&loops[i]);
            return 0;
        }
    }
    return -ENOENT;
}

static int took(char* buffer, const struct kernel_param* parameter) {
    return sprintf(buffer, "%llu %llu\n", ticks, nanoseconds);
}

static const struct kernel_param_ops run_ops = {.set = run}, took_ops = {.get = took};
module_param_cb(run, &run_ops, NULL, 0200);
module_param_cb(took, &took_ops, NULL, 0400);

// ---- what is connected --------------------------------------------------------------------------

static unsigned long sum;
static int hits;
module_param(hits, int, 0600);

static void empty(void* data, unsigned long value, unsigned long pointer) {}

static void typed(void* data, unsigned long value, unsigned long pointer) {
    sum += (int)value + pointer;
}

// A marker's call passes its arguments where a function with variable arguments expects them: both
// are numbers.
static void variable(void* data, ...) {
    va_list arguments;

    va_start(arguments, data);
    sum += va_arg(arguments, int);
    sum += (unsigned long)va_arg(arguments, void*);
    va_end(arguments);
}

static void decoded(void* data, ...) {
    const char* format;
    va_list arguments;

    va_start(arguments, data);
    for (format = "%d %p"; *format; format++) {
        OPTIMIZER_HIDE_VAR(format);
        if (*format != '%')
            continue;
        switch (*++format) {
        case 'd':
            sum += va_arg(arguments, int);
            break;
        case 'p':
            sum += (unsigned long)va_arg(arguments, void*);
            break;
        }
    }
    va_end(arguments);
}

// Shows that a connected function is called.
static void counted(void* data, unsigned long value, unsigned long pointer) {
    hits++;
}

static const struct probe {
    const char* name;
    void* call;
} probes[] = {
    {"empty", empty},     {"typed", typed},     {"variable", variable},
    {"decoded", decoded}, {"counted", counted},
};
static const struct probe* connected;

static int each_point(int (*visit)(struct tracepoint* point, void* probe, void* data), void* call) {
    int i, error = 0;

    for (i = 0; i < THIS_MODULE->num_tracepoints && !error; i++)
        error = visit(tracepoint_ptr_deref(&THIS_MODULE->tracepoints_ptrs[i]), call, NULL);
    return error;
}

static void disconnect(void) {
    if (!connected)
        return;
    each_point(tracepoint_probe_unregister, connected->call);
    connected = NULL;
    tracepoint_synchronize_unregister();
}

static int connect(const char* text, const struct kernel_param* parameter) {
    int i;

    disconnect();
    if (sysfs_streq(text, "none"))
        return 0;
    for (i = 0; i < ARRAY_SIZE(probes); i++) {
        if (sysfs_streq(text, probes[i].name)) {
            connected = &probes[i];
            return each_point(tracepoint_probe_register, connected->call);
        }
    }
    return -ENOENT;
}

static const struct kernel_param_ops connect_ops = {.set = connect};
module_param_cb(connect, &connect_ops, NULL, 0200);

static int __init micro_init(void) {
    return 0;
}

module_init(micro_init);
module_exit(disconnect);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("loops with static markers");
