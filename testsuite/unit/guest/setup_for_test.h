/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest's agent makes the host's files its root (compiler/guest/agent/setup.c), with the
 * kernel's part played by the test: what is mounted is only noted, and paths begin in a folder. */
#ifndef DJSTAP_SETUP_FOR_TEST_H
#define DJSTAP_SETUP_FOR_TEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* The folder is the root, until another one is asked for. */
void test_setup_begin(const char* folder, const char* release);
const char* use_host_root(const char* tag, const char* modules);
/* What was asked of the kernel, a line each. */
extern char test_setup_log[4096];
/* The next `test_setup_refusals` steps whose lines begin with `test_setup_refused` fail with
 * `test_setup_error`. */
extern const char* test_setup_refused;
extern int test_setup_refusals, test_setup_error;
/* How many descriptors are open. */
extern int test_setup_open;

#ifdef __cplusplus
}
#endif
#endif
