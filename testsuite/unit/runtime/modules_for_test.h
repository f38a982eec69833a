/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules, and where kprobes may be in them (runtime/sites/modules.c, runtime/kprobe/fentry_site.c,
 * decodable.c), as a test makes them up. */
#ifndef DJSTAP_MODULES_FOR_TEST_H
#define DJSTAP_MODULES_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* A module with the symbols "first" and "second", and its state. */
struct test_module {
    const char* name;
    unsigned long first, second; /* 0: it does not have this one */
    bool is_coming, cannot_be_held;
};
#define TEST_MODULES 3
extern struct test_module
    test_modules[TEST_MODULES]; /* this one is the last of the kernel's list */
extern unsigned long test_biases[4];
/* How long the first byte of the text at the probe stays a breakpoint. */
extern u32 test_written_ms;
extern char* test_written;
extern const char* test_symbol_at; /* what the kernel says of an address */
extern char test_modules_log[512];

/* Returns the number of the module that is found and held; -1: none. */
int test_module_get(u32 image);
int test_module_place(u32 image, int number);
int test_module_placed(u32 image);
/* At an address of the test's own memory. */
bool test_at_fentry_site(const struct djs_site* site, u64 address, u64 probe);
bool test_kprobe_refused(const struct djs_site* site, u32 image, u64 address, u64 probe);

u32 djs_image_of_module(const char* name);
void djs_module_forget(u32 image);
int test_placed_init(void);
void test_placed_exit(void);
#ifdef __cplusplus
}
#endif
#endif
