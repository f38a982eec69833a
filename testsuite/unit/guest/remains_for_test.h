/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest's agent tells of modules that were unloaded (compiler/guest/agent/remains.c),
 * where the kernel's files are in a folder, and whose clock advances when it sleeps. */
#ifndef DJSTAP_REMAINS_FOR_TEST_H
#define DJSTAP_REMAINS_FOR_TEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Its paths are those of the kernel's files. Nothing is noted yet. */
void test_remains_begin(const char* folder);
/* Frees what was noted. */
void test_remains_end(void);
void remains_note(void);
void remains_tell(void);
/* How many files and folders are open, and how often it slept. */
extern int test_remains_open, test_remains_sleeps;
/* Called when it sleeps, if it is not NULL. */
extern void (*test_remains_asleep)(void);

#ifdef __cplusplus
}
#endif
#endif
