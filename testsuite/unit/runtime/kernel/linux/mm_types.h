/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_MM_TYPES_H
#define DJSTAP_TEST_MM_TYPES_H
struct file;
struct mm_struct {
    struct file* exe_file;
};
#endif
