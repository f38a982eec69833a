/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what they read of events, and
 * what a test says of them. */
#ifndef DJSTAP_TEST_PERF_EVENT_H
#define DJSTAP_TEST_PERF_EVENT_H
#include <stdbool.h>

#include "include/platform.h"

#include "linux/list.h"
#include "linux/spinlock.h"

struct perf_event;
struct perf_sample_data;
struct pt_regs;
struct task_struct;

struct perf_event_attr {
    u32 type, size;
    u64 config;
    union {
        u64 sample_period, sample_freq;
    };
    u64 bp_addr, bp_len;
    u32 bp_type;
    u64 disabled : 1, inherit : 1, freq : 1, inherit_stat : 1, remove_on_exec : 1;
};

typedef struct {
    s64 counter;
} local64_t;
#define local64_read(number) ((number)->counter)
typedef struct {
    long counter;
} atomic_long_t;
#define atomic_long_read(number) ((number)->counter)

struct pmu {
    void (*read)(struct perf_event* event);
};
typedef void (*perf_overflow_handler_t)(struct perf_event* event, struct perf_sample_data* data,
                                        struct pt_regs* regs);

enum { PERF_EVENT_STATE_EXIT = -3, PERF_EVENT_STATE_OFF = -1, PERF_EVENT_STATE_ACTIVE = 1 };

struct perf_event {
    struct list_head event_entry;
    struct pmu* pmu;
    int state, oncpu;
    local64_t count;
    atomic_long_t refcount;
    perf_overflow_handler_t overflow_handler;
    void* overflow_handler_context;
    /* Of the test. */
    struct task_struct* task;
    u32 number;
    s64 counted; /* what the processor has counted since it was read */
};
struct perf_event_context {
    raw_spinlock_t lock;
    struct list_head event_list;
};

struct perf_event* perf_event_create_kernel_counter(struct perf_event_attr* attr, int cpu,
                                                    struct task_struct* task,
                                                    perf_overflow_handler_t handler, void* context);
int perf_event_release_kernel(struct perf_event* event);
#endif
