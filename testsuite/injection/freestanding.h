// SPDX-License-Identifier: GPL-2.0-or-later
// For programs without a library: a system call, and the function that is probed.
static long call(long number, long a, long b, long c, long d) {
    register long fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline)) long f(long a) {
    volatile long kept = a * 3 + 1;

    return kept;
}
