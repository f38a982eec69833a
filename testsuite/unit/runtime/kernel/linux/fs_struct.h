/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_FS_STRUCT_H
#define DJSTAP_TEST_FS_STRUCT_H
struct fs_struct;
struct path;
void get_fs_root(struct fs_struct* fs, struct path* root);
#endif
