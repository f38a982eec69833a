/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes that are registered with the kernel (runtime/kprobe/registered.c), where a test says what
 * the kernel does. */
#ifndef DJSTAP_REGISTERED_FOR_TEST_H
#define DJSTAP_REGISTERED_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_PROBES 4

/* A site, and the kernel's probe there. */
struct test_probe {
    bool is_one, may_become_one, wanted, absent, refused; /* refused by djs_kprobe_refused */
    u32 image;
    int rejects, cannot_enable, cannot_disable; /* the errors of the kernel's functions; 0: none */
    bool by_ftrace;                             /* the kernel uses ftrace for it */
    char text;                    /* what the kernel has at its address: instructions_for_test.h */
    u64 nested, without_instance; /* the kernel's counts */
    /* What has become of the site. */
    bool armed, has_probe;
    int error;
    u64 missed;
};
extern struct test_probe test_probes[TEST_PROBES];
/* A line for each call of the kernel's functions and for each message. */
extern char test_registry_log[2048];
extern bool test_registry_ftrace_dead;
/* New probes stay as they are, because kprobes are switched off. */
extern bool test_kprobes_off;
extern bool test_registry_lacks_memory;

/* Begins without probes. */
void test_registry_begin(bool latest_first, bool checks_memory);
int test_registry_attach(void);
void test_registry_disarm(void);
void test_registry_detach(void);
void test_registry_forget(u32 image);
void test_registry_missed(u64* nested, u64* without_instance);
void test_registry_end(void);
#ifdef __cplusplus
}
#endif
#endif
