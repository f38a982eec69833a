// SPDX-License-Identifier: GPL-2.0-or-later
// A path on which the frame pointer has three meanings: second() has one, since its frame has a
// length of its own; third() has none, and uses the register for something else, which it has
// saved.
#include <string.h>

volatile long sum;

__attribute__((noinline)) long last(long n) {
    sum += n;
    return n + 1;
}

__attribute__((noinline)) long third(long n) {
    __asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
    const long result = last(n);
    __asm__ volatile("" ::: "rbp");
    return result * 2;
}

__attribute__((noinline)) long second(long n) {
    char room[16 * n + 16];
    memset(room, (int)n, sizeof room);
    const long result = third(n);
    return result + room[sum & 7];
}

__attribute__((noinline)) long first(long n) {
    return second(n) + 1;
}

int main(void) {
    long all = 0;
    for (long n = 1; n <= 8; n++)
        all += first(n);
    last(all);
}
