// SPDX-License-Identifier: GPL-2.0-or-later
// A program whose calls and values are known. Each argument is an action:
//
//   sum N       calls sum() N times: sum(i, 2 * i), i from 1
//   deep N      calls itself recursively: deep(N) ... deep(0)
//   shape       describes shapes
//   many        passes nine arguments
//   fork N      creates N processes that call sum(1, 2); descend N: each of them the next one
//   thread N    creates N threads that call sum(1, 2)
//   sleepers N  creates N threads that sleep until the process ends
//   jump N      leaves leave() by longjmp N times
//   say         writes a line
//   read        reads a line
//   wait        calls block(), which reads a line
//   exec PROGRAM ...
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum color { RED, GREEN = 7 };
struct shape {
    int id;
    unsigned kind : 3;
    unsigned level : 5;
    const char* name;
    long sizes[4];
    struct shape* next;
    enum color color;
};

int counter = 40;
static long totals[2] = {100, 200};

__attribute__((noinline)) int sum(int a, long b) {
    counter++;
    totals[1] += b;
    return a + (int)b;
}

__attribute__((noinline)) long deep(int n) {
    long below = n > 0 ? deep(n - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + n;
}

__attribute__((noinline)) const char* describe(struct shape* shape, const char* text, char c) {
    __asm__ volatile("" : : "r"(shape), "r"(text), "r"(c) : "memory");
    return shape->next ? shape->next->name : text;
}

__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, int g, long h,
                                   short i) {
    __asm__ volatile("" : : : "memory");
    return a + b + c + d + e + f + g + (int)h + i;
}

static jmp_buf escape;
__attribute__((noinline)) int leave(int n) {
    if (n >= 0)
        longjmp(escape, 1);
    return n;
}

__attribute__((noinline)) int block(int n) {
    char line[16];
    ssize_t got = read(STDIN_FILENO, line, sizeof line);
    return n + (got > 0);
}

static void descend(int n) {
    if (n == 0)
        return;
    if (fork() == 0) {
        sum(1, 2);
        descend(n - 1);
        _exit(0);
    }
    wait(NULL);
}

static void* in_thread(void* unused) {
    sum(1, 2);
    return unused;
}

static void* asleep(void* unused) {
    for (;;)
        pause();
    return unused;
}

static void shapes(void) {
    struct shape last = {2, 5, 17, "square", {5, 6, 7, 8}, NULL, RED};
    struct shape first = {1, 3, 31, "circle", {1, 2, 3, 4}, &last, GREEN};
    describe(&first, "hello", 'x');
    describe(&last, "world", 'y');
}

int main(int argc, char** argv) {
    for (int i = 1; i < argc; i++) {
        const char* action = argv[i];
        int n = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (!strcmp(action, "sum"))
            for (int j = 1; j <= n; j++)
                sum(j, 2 * j);
        else if (!strcmp(action, "deep"))
            deep(n);
        else if (!strcmp(action, "shape"))
            shapes();
        else if (!strcmp(action, "many"))
            many(1, 2, 3, 4, 5, 6, 7, 8, -9);
        else if (!strcmp(action, "jump"))
            for (int j = 0; j < n; j++) {
                if (!setjmp(escape))
                    leave(n);
            }
        else if (!strcmp(action, "fork"))
            for (int j = 0; j < n; j++) {
                pid_t child = fork();
                if (child == 0) {
                    sum(1, 2);
                    _exit(0);
                }
                waitpid(child, NULL, 0);
            }
        else if (!strcmp(action, "descend"))
            descend(n);
        else if (!strcmp(action, "thread"))
            for (int j = 0; j < n; j++) {
                pthread_t thread;
                pthread_create(&thread, NULL, in_thread, NULL);
                pthread_join(thread, NULL);
            }
        else if (!strcmp(action, "sleepers"))
            for (int j = 0; j < n; j++) {
                pthread_t thread;
                pthread_create(&thread, NULL, asleep, NULL);
            }
        else if (!strcmp(action, "say"))
            puts("ready"), fflush(stdout);
        else if (!strcmp(action, "read") || !strcmp(action, "wait"))
            block(7);
        else if (!strcmp(action, "exec"))
            execv(argv[i + 1], argv + i + 1);
    }
    return 0;
}
