/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a script's module is loaded and unloaded (runtime/control/module.c). */
#ifndef DJSTAP_MODULE_FOR_TEST_H
#define DJSTAP_MODULE_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The module's parameters. */
struct test_module_parameters {
    bool hold, overwrite;
    unsigned ring_kb;
    int target, reader, tz_gmtoff;
    const char *tz_name, *host;
};

/* The kernel that runs. Its build-id is at an address to which its load bias is added. */
enum { TEST_MODULE_ID_AT = 0x7000, TEST_MODULE_BIAS = 0x123000, TEST_MODULE_ID_MOST = 80 };
extern const char *test_module_release, *test_module_version, *test_module_node;
extern u8 test_module_id[TEST_MODULE_ID_MOST];
extern bool test_module_id_faults;

/* A word for each part of the runtime that is begun or ended, and the text of each message. */
extern char test_module_log[2048];
extern const char* test_module_fails; /* which one cannot be begun: -ENOMEM; NULL: none */
extern bool test_module_pinned, test_module_had_reader, test_module_interrupts_are_virtual;
/* What others see: the size of the rings is how it was asked for; the gate is that at the
 * session's start. */
extern u64 test_module_ring_bytes;
extern s32 test_module_traced;
extern bool test_module_overwrites;
extern u32 test_module_gate;
extern struct djs_control_page test_module_control;

void test_module_begin(const struct test_module_parameters* parameters);
int test_module_load(void);
void test_module_unload(void);
void test_module_host_name(char* out);
s64 test_module_zone_offset(void);
void test_module_zone_name(char* out);
const char* test_module_zone(void);
#ifdef __cplusplus
}
#endif
#endif
