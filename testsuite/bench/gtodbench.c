// SPDX-License-Identifier: GPL-2.0-or-later
// gtodbench measures how long the gettimeofday system call takes, with and without probes on it.
//
//   gtodbench [-n CALLS | -s SECONDS] [-q] [-r SEED]
//
// Repeats the system call itself (the C library would answer from the vDSO without entering the
// kernel) and prints the number of calls and the average time per call in nanoseconds. Without
// options it makes 10 calls, few enough to read what a probe prints for each of them.
//
//   -n CALLS    makes this many calls
//   -s SECONDS  makes as many calls as fit into this time (fractions are allowed)
//   -q          prints only the two numbers: "CALLS NANOSECONDS"
//   -r SEED     sleeps now and then for up to half a millisecond, at times that the seed
//   determines.
//               If a guest's processors take turns, each timer that ends a sleep lets another one
//               run.
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_CALLS 10
// Calls between two reads of the clock with -s: the clock's own cost stays below a thousandth.
#define BATCH 1024

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Marsaglia's xorshift, "Xorshift RNGs" (2003).
static uint64_t draw(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void call(uint64_t times) {
    struct timeval tv;
    struct timezone tz;
    for (uint64_t i = 0; i < times; i++) {
        if (syscall(SYS_gettimeofday, &tv, &tz) != 0) {
            fprintf(stderr, "gtodbench: gettimeofday: %s\n", strerror(errno));
            exit(1);
        }
    }
}

static int usage(void) {
    fputs("usage: gtodbench [-n CALLS | -s SECONDS] [-q] [-r SEED]\n", stderr);
    return 2;
}

// Makes `times` calls, with pauses if there is a seed.
static void call_and_pause(uint64_t times, uint64_t* seed) {
    while (*seed && times) {
        uint64_t now = draw(seed) % BATCH + 1;
        if (now > times)
            now = times;
        call(now);
        times -= now;
        nanosleep(&(struct timespec){.tv_nsec = (long)(draw(seed) % 500000)}, NULL);
    }
    call(times);
}

int main(int argc, char** argv) {
    uint64_t wanted = DEFAULT_CALLS;
    double seconds = 0;
    bool quiet = false;
    uint64_t seed = 0;
    for (int option; (option = getopt(argc, argv, "n:s:qr:")) != -1;) {
        char* end = NULL;
        errno = 0;
        switch (option) {
        case 'n':
            wanted = strtoull(optarg, &end, 10);
            if (*end || end == optarg || errno || optarg[0] == '-' || wanted == 0)
                return usage();
            break;
        case 's':
            seconds = strtod(optarg, &end);
            if (*end || end == optarg || !(seconds > 0 && seconds < 1e6))
                return usage();
            break;
        case 'q':
            quiet = true;
            break;
        case 'r':
            seed = strtoull(optarg, &end, 10);
            if (*end || end == optarg || errno || optarg[0] == '-' || seed == 0)
                return usage();
            seed *= 0x9e3779b97f4a7c15; // small seeds have few bits
            break;
        default:
            return usage();
        }
    }
    if (optind != argc)
        return usage();

    uint64_t calls = 0;
    uint64_t start = nanoseconds();
    uint64_t now = start;
    if (seconds > 0) {
        uint64_t end = start + (uint64_t)(seconds * 1e9);
        while (now < end) {
            call_and_pause(BATCH, &seed);
            calls += BATCH;
            now = nanoseconds();
        }
    } else {
        call_and_pause(wanted, &seed);
        calls = wanted;
        now = nanoseconds();
    }
    double average = (double)(now - start) / (double)calls;
    if (quiet)
        printf("%llu %.1f\n", (unsigned long long)calls, average);
    else
        printf("gtodbench: %llu calls, %.1f ns each\n", (unsigned long long)calls, average);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
