/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_TRACEPOINT_H
#define DJSTAP_TEST_TRACEPOINT_H
struct tracepoint {
    const char* name;
    void* probe; /* what is registered */
};
void for_each_kernel_tracepoint(void (*function)(struct tracepoint*, void*), void* data);
int tracepoint_probe_register(struct tracepoint* tracepoint, void* probe, void* data);
void tracepoint_probe_unregister(struct tracepoint* tracepoint, void* probe, void* data);
void tracepoint_synchronize_unregister(void);
#endif
