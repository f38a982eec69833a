/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of modules that are loaded and unloaded meanwhile (runtime/control/modules.c). */
#ifndef DJSTAP_COMING_MODULES_FOR_TEST_H
#define DJSTAP_COMING_MODULES_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_COMING_SITES = 5, TEST_COMING_IMAGES = 3 };
/* What the kernel tells of a module. */
enum { TEST_MODULE_COMES, TEST_MODULE_IS_LIVE, TEST_MODULE_GOES, TEST_MODULE_IS_UNFORMED };

struct test_coming_site {
    u32 image;
    int error;
    bool absent, armed, wanted;
    bool is_placed; /* since this was reset */
};
extern struct test_coming_site test_coming_sites[TEST_COMING_SITES];
/* A word for each call, and the text of each message. */
extern char test_coming_log[1024];
extern bool test_coming_is_loaded[TEST_COMING_IMAGES]; /* when the script begins */
extern int test_coming_references;                     /* to modules */
extern int test_coming_place_error;                    /* -ENOEXEC: a different one has the name */
extern int test_coming_lookup_error;
/* Of the registration of the first and the second notifier, and how many are registered. */
extern int test_coming_notifier_errors[2];
extern u32 test_coming_notifiers;

void test_coming_begin(void);
int test_coming_init(void);
void test_coming_exit(void);
int test_coming_follow(void);
void test_coming_ignore(void);
bool test_coming_followed(void);
/* The kernel calls notifiers. "others" in the log: those that are not djstap's. */
void test_coming_module(const char* name, int what);
#ifdef __cplusplus
}
#endif
#endif
