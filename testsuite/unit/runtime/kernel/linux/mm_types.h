/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what they read of memory. */
#ifndef DJSTAP_TEST_MM_TYPES_H
#define DJSTAP_TEST_MM_TYPES_H
#include "linux/slab.h"
struct file;
struct mm_struct {
    struct file* exe_file;
    atomic_t mm_users;
    int references;
};
#define mmgrab(mm) ((void)(mm)->references++)
#define mmdrop(mm) test_put(&(mm)->references)
#endif
