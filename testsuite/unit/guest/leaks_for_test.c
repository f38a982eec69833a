// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "leaks_for_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int test_leaks_there, test_leaks_obeys, test_leaks_open;
const char* test_leaks_report;
char test_leaks_orders[256];
static const char* log_file;
static size_t position;

static void note(const char* text, size_t size) {
    const size_t have = strlen(test_leaks_orders);

    if (have + size + 2 > sizeof test_leaks_orders)
        abort();
    memcpy(test_leaks_orders + have, text, size);
    strcpy(test_leaks_orders + have + size, " ");
}

static int open_kmemleak(const char* path) {
    if (strcmp(path, "/sys/kernel/debug/kmemleak") != 0)
        abort();
    if (!test_leaks_there)
        return -1;
    test_leaks_open++;
    return 1000;
}

static int close_kmemleak(void) {
    test_leaks_open--;
    return 0;
}

static ssize_t write_order(const char* order, size_t size) {
    if (!test_leaks_obeys) {
        errno = EPERM;
        return -1;
    }
    note(order, size);
    return (ssize_t)size;
}

static ssize_t read_report(char* to, size_t size) {
    size_t left = strlen(test_leaks_report) - position;

    left = left < size ? left : size;
    left = left < 4096 ? left : 4096;
    memcpy(to, test_leaks_report + position, left);
    position += left;
    return (ssize_t)left;
}

static void seek_to(size_t to) {
    position = to;
}

static unsigned sleep_here(unsigned seconds) {
    char text[16];

    note(text, (size_t)snprintf(text, sizeof text, "%us", seconds));
    return 0;
}

/* The kernel's log keeps what is there, whoever opens it. */
static FILE* open_log(const char* path) {
    FILE* log;

    if (strcmp(path, "/dev/kmsg") != 0)
        abort();
    log = fopen(log_file, "a");
    test_leaks_open += log != NULL;
    return log;
}

static int close_log(FILE* log) {
    test_leaks_open--;
    return fclose(log);
}

#define open(path, flags) open_kmemleak(path)
#define close(file) close_kmemleak()
#define write(file, data, n) write_order(data, n)
#define read(file, data, n) read_report(data, n)
#define lseek(file, to, where) seek_to(to)
#define sleep(seconds) sleep_here(seconds)
#define fopen(path, how) open_log(path)
#define fclose(stream) close_log(stream)
#undef _GNU_SOURCE

#include "guest/agent/leaks.c"

void test_leaks_begin(const char* log) {
    log_file = log;
    test_leaks_there = test_leaks_obeys = 1;
    test_leaks_open = 0;
    test_leaks_report = "";
    test_leaks_orders[0] = 0;
    position = 0;
}

void test_leaks_end(void) {
    kmemleak = -1;
}
