/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for tracepoint_for_test.c, which defines these functions. */
#ifndef DJSTAP_TEST_TRACEPOINT_H
#define DJSTAP_TEST_TRACEPOINT_H
struct tracepoint {
    const char* name;
};
typedef struct tracepoint* tracepoint_ptr_t;
#define tracepoint_ptr_deref(pointer) (*(pointer))

struct module {
    tracepoint_ptr_t* tracepoints_ptrs;
    unsigned int num_tracepoints;
};

static int tracepoint_probe_register(struct tracepoint* point, void* probe, void* data);
static int tracepoint_probe_unregister(struct tracepoint* point, void* probe, void* data);
static void for_each_kernel_tracepoint(void (*visit)(struct tracepoint* point, void* data),
                                       void* data);
static void tracepoint_synchronize_unregister(void);
#endif
