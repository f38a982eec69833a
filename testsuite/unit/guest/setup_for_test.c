// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "setup_for_test.h"
#include "place_below.h"

#include "guest/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

char test_setup_log[4096];
const char* test_setup_refused;
int test_setup_refusals, test_setup_error, test_setup_open;
static const char* kernels_release;
static char root[512], current[256];
enum { socket_of_events = 1000 };

/* Notes a line. Returns 0, or -1 with errno if the step is refused. */
static int __attribute__((format(printf, 1, 2))) step(const char* format, ...) {
    const size_t have = strlen(test_setup_log);
    char* const line = test_setup_log + have;
    va_list values;
    int length;

    va_start(values, format);
    length = vsnprintf(line, sizeof test_setup_log - have, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof test_setup_log - have)
        abort();
    if (test_setup_refusals == 0 ||
        strncmp(line, test_setup_refused, strlen(test_setup_refused)) != 0)
        return 0;
    test_setup_refusals--;
    errno = test_setup_error;
    return -1;
}

static const char* or_dash(const char* given) {
    return given ? given : "-";
}

static int mount_here(const char* source, const char* where, const char* type, unsigned long flags,
                      const char* data) {
    if (flags == MS_MOVE)
        return step("move %s %s\n", source, where);
    return step("mount %s %s %s%s %s\n", or_dash(source), where, or_dash(type),
                flags == MS_RDONLY ? " read-only" : "", or_dash(data));
}

static int enter_folder(const char* path) {
    if (step("enter %s\n", path))
        return -1;
    snprintf(current, sizeof current, "%s", path);
    return 0;
}

/* Supports only chroot("."). */
static int change_root(const char* path) {
    if (step("root %s\n", path))
        return -1;
    if (strcmp(path, ".") != 0 || strlen(root) + strlen(current) >= sizeof root)
        abort();
    strcat(root, current);
    return 0;
}

static int name_kernel(struct utsname* name) {
    snprintf(name->release, sizeof name->release, "%s", kernels_release);
    return 0;
}

static int open_socket(void) {
    test_setup_open++;
    return socket_of_events;
}

static int bind_socket(int file, const struct sockaddr* address) {
    if (file != socket_of_events || address->sa_family != AF_NETLINK)
        abort();
    return 0;
}

/* A call that succeeds may change errno as well. */
static int close_socket(int file) {
    if (file != socket_of_events)
        abort();
    test_setup_open--;
    errno = EBADF;
    return 0;
}

/* Nothing happens in the time. */
static int wait_for_events(const struct pollfd* events) {
    if (events->fd != socket_of_events)
        abort();
    step("wait\n");
    return 0;
}

static int make_folders_of_guest(const char* path) {
    return make_folders(place_below(root, path));
}

#define mount(source, where, type, flags, data) mount_here(source, where, type, flags, data)
#define chdir(path) enter_folder(path)
#define chroot(path) change_root(path)
#define mkdir(path, mode) mkdir(place_below(root, path), mode)
#define access(path, how) access(place_below(root, path), how)
#define symlink(to, path) symlink(to, place_below(root, path))
#define make_folders(path) make_folders_of_guest(path)
#define uname(name) name_kernel(name)
#define socket(family, type, protocol) open_socket()
#define bind(file, address, size) bind_socket(file, address)
#define poll(files, count, milliseconds) wait_for_events(files)
#define close(file) close_socket(file)
#undef _GNU_SOURCE

#include "guest/agent/setup.c"

void test_setup_begin(const char* folder, const char* release) {
    snprintf(root, sizeof root, "%s", folder);
    current[0] = test_setup_log[0] = 0;
    kernels_release = release;
    test_setup_refused = "";
    test_setup_refusals = test_setup_error = test_setup_open = 0;
}
