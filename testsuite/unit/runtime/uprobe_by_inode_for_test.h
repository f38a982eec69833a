/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites in programs on a kernel that knows consumers by their inode and offset (before Linux 6.12),
 * for the test of runtime/uprobe/uprobe.c. */
#ifndef DJSTAP_UPROBE_BY_INODE_FOR_TEST_H
#define DJSTAP_UPROBE_BY_INODE_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_BY_INODE_SITES = 3 };

/* The sites of djs_script, which are all wanted and not armed, in the file with the inode 17. */
void test_by_inode_begin(void);
void test_by_inode_want(u32 site, bool wanted);
bool test_by_inode_armed(u32 site);
/* What the mechanism does. */
int test_by_inode_attach(void);
void test_by_inode_disarm(void);
void test_by_inode_free(void);
extern int test_by_inode_error; /* registering fails */
/* A line for each call of the kernel's functions, and message. */
extern char test_by_inode_log[1024];
#ifdef __cplusplus
}
#endif
#endif
