// SPDX-License-Identifier: GPL-2.0-or-later
// Calls getsid() with numbers of which each guest has its own, so that the hits of all guests are
// known:
//     fleet-load FIRST COUNT
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: fleet-load FIRST COUNT\n");
        return 2;
    }
    const int first = atoi(argv[1]), count = atoi(argv[2]);
    for (int i = 0; i < count; i++)
        (void)getsid(first + i);
    return 0;
}
