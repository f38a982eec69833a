// SPDX-License-Identifier: GPL-2.0-or-later
/* Preloaded into a virtiofsd that does not run as root: the guest's overlay opens its lower files
 * without updating their access times, which the kernel permits only to their owners. The share is
 * read-only, so no access time is updated anyway. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int openat64(int folder, const char* path, int flags, ...) {
    va_list arguments;
    int mode;

    va_start(arguments, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return (int)syscall(SYS_openat, folder, path, flags & ~O_NOATIME, mode);
}
int openat(int, const char*, int, ...) __attribute__((alias("openat64")));

/* Programs that are built with fortified calls use these. */
int __openat64_2(int folder, const char* path, int flags) {
    return openat64(folder, path, flags);
}
int __openat_2(int, const char*, int) __attribute__((alias("__openat64_2")));
