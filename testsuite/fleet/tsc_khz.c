// SPDX-License-Identifier: GPL-2.0-or-later
// Prints the rate of this machine's time-stamp counter in kHz: QEMU's guests see it as their own,
// and measure it wrongly where QEMU is not scheduled for a while.
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
    uint64_t cycles, ns;
};

// The fastest of a few readings: nothing interrupted it.
static struct sample sample(void) {
    struct sample best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 50; i++) {
        struct timespec now;
        const uint64_t before = __rdtsc();
        clock_gettime(CLOCK_MONOTONIC, &now);
        const uint64_t taken = __rdtsc() - before;
        if (taken < least) {
            least = taken;
            best = (struct sample){before + taken / 2,
                                   (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
        }
    }
    return best;
}

int main(void) {
    const struct sample from = sample();
    const struct timespec pause = {0, 100000000};
    nanosleep(&pause, NULL);
    const struct sample to = sample();
    printf("%.0f\n", (double)(to.cycles - from.cycles) * 1e6 / (double)(to.ns - from.ns));
    return 0;
}
