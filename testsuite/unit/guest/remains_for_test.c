// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "remains_for_test.h"
#include "place_below.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int test_remains_open, test_remains_sleeps;
void (*test_remains_asleep)(void);
static const char* kernels_folder;
static long microseconds;

static int open_of_kernel(const char* path, int flags) {
    const int file = open(place_below(kernels_folder, path), flags);

    test_remains_open += file >= 0;
    return file;
}

static int close_of_kernel(int file) {
    test_remains_open--;
    return close(file);
}

static DIR* open_folder_of_kernel(const char* path) {
    DIR* const folder = opendir(place_below(kernels_folder, path));

    test_remains_open += folder != NULL;
    return folder;
}

static int close_folder_of_kernel(DIR* folder) {
    test_remains_open--;
    return closedir(folder);
}

static FILE* open_stream_of_kernel(const char* path, const char* how) {
    FILE* const stream = fopen(place_below(kernels_folder, path), how);

    test_remains_open += stream != NULL;
    return stream;
}

static int close_stream_of_kernel(FILE* stream) {
    test_remains_open--;
    return fclose(stream);
}

static int sleep_here(unsigned duration) {
    test_remains_sleeps++;
    microseconds += duration;
    if (test_remains_asleep)
        test_remains_asleep();
    return 0;
}

static int clock_here(clockid_t clock, struct timespec* now) {
    if (clock != CLOCK_MONOTONIC)
        abort();
    now->tv_sec = 1000 + microseconds / 1000000;
    now->tv_nsec = microseconds % 1000000 * 1000;
    return 0;
}

#define open(path, flags) open_of_kernel(path, flags)
#define close(file) close_of_kernel(file)
#define opendir(path) open_folder_of_kernel(path)
#define closedir(folder) close_folder_of_kernel(folder)
#define fopen(path, how) open_stream_of_kernel(path, how)
#define fclose(stream) close_stream_of_kernel(stream)
#define usleep(duration) sleep_here(duration)
#define clock_gettime(clock, now) clock_here(clock, now)
#undef _GNU_SOURCE

#include "guest/agent/remains.c"

void test_remains_begin(const char* folder) {
    kernels_folder = folder;
    test_remains_open = test_remains_sleeps = 0;
    test_remains_asleep = NULL;
    microseconds = 0;
}

void test_remains_end(void) {
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        free(before[i]);
        before[i] = NULL;
    }
    early[0] = 0;
}
