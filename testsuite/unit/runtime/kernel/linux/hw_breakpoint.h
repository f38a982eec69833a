/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_HW_BREAKPOINT_H
#define DJSTAP_TEST_HW_BREAKPOINT_H
#include "linux/perf_event.h"

enum { HW_BREAKPOINT_R = 1, HW_BREAKPOINT_W = 2, HW_BREAKPOINT_RW = 3 };
#define IS_ERR_VALUE(value) ((unsigned long)(value) >= -4095ul)
static inline void hw_breakpoint_init(struct perf_event_attr* attr) {
    *attr = (struct perf_event_attr){.type = 5, .size = sizeof(*attr), .sample_period = 1};
}
struct perf_event** register_wide_hw_breakpoint(struct perf_event_attr* attr,
                                                perf_overflow_handler_t handler, void* context);
void unregister_wide_hw_breakpoint(struct perf_event** events);
#endif
