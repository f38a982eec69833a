// SPDX-License-Identifier: GPL-2.0-or-later
// A library that late.c loads. Its constructor calls a function of it, too.
#include <stdlib.h>

static volatile long sink;

__attribute__((noinline, noclone, visibility("default"))) long plugged(long a, long b) {
    sink = a;
    return a * 10 + b;
}

__attribute__((noinline, noclone, visibility("default"))) long plugged_often(long n) {
    long total = 0;
    for (long i = 0; i < n; i++)
        total += plugged(i, 1) - i * 10;
    return total;
}

__attribute__((constructor)) static void begin(void) {
    if (plugged(7, 7) != 77)
        abort();
}
