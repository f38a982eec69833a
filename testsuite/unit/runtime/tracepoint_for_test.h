/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints and markers (runtime/tracepoint/, runtime/marker/) of a kernel and a module that a
 * test makes up. */
#ifndef DJSTAP_TRACEPOINT_FOR_TEST_H
#define DJSTAP_TRACEPOINT_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_POINTS 6

struct test_point {
    bool wanted;
    /* What has become of the site. */
    bool armed;
    int error;
};
extern struct test_point test_points[TEST_POINTS];
/* The names of the kernel's tracepoints, and of the module's; NULL: no more. */
extern const char* test_kernel_points[TEST_POINTS];
extern const char* test_module_points[TEST_POINTS];
extern bool test_module_is_loaded;
/* How many registrations succeed; the one behind them fails. */
extern int test_registrations_left;
/* A line for each registration: the name, and the number of the site. */
extern char test_points_log[2048];

void test_points_begin(void);
int test_tracepoints_attach(void);
void test_tracepoints_disarm(void);
int test_markers_attach(void);
void test_markers_disarm(void);
void test_tracepoints_free(void);
#ifdef __cplusplus
}
#endif
#endif
