/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_STAT_H
#define DJSTAP_TEST_STAT_H
#include <stdbool.h>
#include <sys/types.h>

#include "include/platform.h"

struct timespec64 {
    s64 tv_sec;
    long tv_nsec;
};
struct kstat {
    unsigned nlink;
    dev_t dev;
    u64 ino, size;
    struct timespec64 mtime, ctime;
};
struct path;

#define STATX_BASIC_STATS 1
#define STATX_NLINK 4
#define AT_STATX_SYNC_AS_STAT 0
#define AT_STATX_DONT_SYNC 2
int vfs_getattr(const struct path* path, struct kstat* stat, unsigned mask, unsigned flags);

static inline bool timespec64_equal(const struct timespec64* a, const struct timespec64* b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}
#endif
