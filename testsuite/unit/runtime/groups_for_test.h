/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of functions with one ftrace_ops (runtime/djprobe/groups.c), where a test says what the
 * kernel refuses. */
#ifndef DJSTAP_GROUPS_FOR_TEST_H
#define DJSTAP_GROUPS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_FUNCTIONS 6

struct test_function {
    u32 number, image; /* number: of its handler, and of its trampoline */
    u32 next;          /* the next site of its direct call; 0: none */
    bool taken;        /* its mechanism is the one in question */
    bool wanted;
    bool busy;      /* the kernel refuses an ops that has it */
    bool is_in_use; /* and its text shows it */
    /* What has become of the site. */
    bool armed, has_group;
    int error;
};
extern struct test_function test_functions[TEST_FUNCTIONS];
/* A line for each call of the kernel's functions. */
extern char test_groups_log[2048];
extern bool test_groups_ftrace_dead;
/* The kernel's errors, for any function; 0: none. */
extern int test_filter_error, test_attach_error, test_disconnect_error;

void test_groups_begin(bool by_trampoline, bool undrained);
int test_groups_attach(void);
void test_groups_detach(void);
#ifdef __cplusplus
}
#endif
#endif
