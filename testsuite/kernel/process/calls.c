// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that call each other on known paths, as many times as the argument says, while a thread
// calls some of them, too.
#include <pthread.h>
#include <stdlib.h>

#define OWN __attribute__((noipa))

OWN int leaf(int n) {
    return n + 1;
}

static inline __attribute__((always_inline)) int within(int n) {
    return leaf(n + 2) * 3;
}

OWN int middle(int n) {
    return leaf(n) * 2 + leaf(n + 1);
}

OWN int top(int n) {
    return leaf(n) + middle(n) + within(n);
}

OWN int ends(int n) {
    return leaf(n + 5);
}

static void* in_thread(void* unused) {
    for (int i = 0; i < 5; i++)
        middle(i);
    return unused;
}

int main(int argc, char** argv) {
    pthread_t thread;
    int sum = leaf(100);
    pthread_create(&thread, NULL, in_thread, NULL);
    for (int i = 1; argc > 1 && i <= atoi(argv[1]); i++)
        sum += top(i);
    sum += ends(10);
    pthread_join(thread, NULL);
    return sum == 0;
}
