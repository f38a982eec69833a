// SPDX-License-Identifier: GPL-2.0-or-later
// A program at the limits of what can be probed. Each argument is an action:
//
// - sum N: calls sum(i, 2 * i), i from 1 to N
// - apart N: the same in a thread of its own
// - moved N: N threads, one after the other, on stacks that differ, call sum(1, 2) ten times each
// - wait: reads a line, and prints it
// - seal: forbids itself to unmap memory and to close files, at the pain of death
// - abandon N: N times, a signal's handler leaves sum(0, 0) by a longjmp, after some time there
// - interrupt N: N times, a signal's handler leaves a loop that calls sum(0, 0) by a longjmp
// - cancel N: N threads, one after the other, that call sum(0, 0) are canceled wherever they are
// - hurry N: N threads call sum(1, 2) from then on
// - exec: after a moment, executes itself with the actions that follow
// - scribble N: writes to the N-th mapping of one megabyte that belongs to djstap
// - reuse: as the first action, has another file by each descriptor before the program's entry
// - gs: as the first action, uses the gs register from before the program's entry on
#define _GNU_SOURCE // pthread_attr_setstack
#include <asm/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long sink;
static sigjmp_buf here;

__attribute__((noinline, noclone)) int sum(int a, long b) {
    sink = a;
    return a + (int)b;
}

static void fail(const char* what) {
    perror(what);
    exit(1);
}

// The dynamic loader calls it before it enters the program.
static void begin_early(int count, char** arguments, char** environment) {
    (void)environment;
    if (count > 1 && !strcmp(arguments[1], "gs") && syscall(SYS_arch_prctl, ARCH_SET_GS, &sink))
        fail("arch_prctl");
    if (count > 1 && !strcmp(arguments[1], "reuse")) {
        const int own = memfd_create("own", 0);
        for (int each = 3; each < 64; each++)
            if (each != own && dup2(own, each) < 0)
                fail("dup2");
    }
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char**,
                                                                            char**) = begin_early;

static void* call_sum(void* times) {
    for (long i = 1; i <= (long)times; i++)
        sum((int)i, 2 * i);
    return NULL;
}

static void* call_ten(void* unused) {
    for (int i = 0; i < 10; i++)
        sum(1, 2);
    return unused;
}

static void run_thread(const pthread_attr_t* attributes, void* (*function)(void*), long argument) {
    pthread_t thread;
    if (pthread_create(&thread, attributes, function, (void*)argument) ||
        pthread_join(thread, NULL))
        fail("a thread");
}

// The stacks stay mapped, so that no thread has the address of another one.
static void run_moved(long n) {
    enum { STACK = 1 << 18 };
    pthread_attr_t attributes;
    for (long i = 0; i < n; i++) {
        void* const stack =
            mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED || pthread_attr_init(&attributes) ||
            pthread_attr_setstack(&attributes, stack, STACK))
            fail("a stack");
        run_thread(&attributes, call_ten, 0);
    }
}

static void read_line(void) {
    char line[16];
    printf("%s", fgets(line, sizeof line, stdin) ? line : "nothing\n");
}

static void seal(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        fail("seccomp");
}

static void leave(int number) {
    (void)number;
    siglongjmp(here, 1);
}

// The timer counts the time that the program computes: it ends in sum(), if that takes time.
static void abandon(long n) {
    const struct itimerval timer = {.it_value = {.tv_usec = 20000}}, never = {0};
    signal(SIGVTALRM, leave);
    for (volatile long i = 0; i < n; i++)
        if (!sigsetjmp(here, 1)) {
            setitimer(ITIMER_VIRTUAL, &timer, NULL);
            sum(0, 0);
            setitimer(ITIMER_VIRTUAL, &never, NULL);
            puts("returned");
        }
}

static void interrupt(long n) {
    const struct itimerval timer = {.it_value = {.tv_usec = 200}};
    signal(SIGALRM, leave);
    for (volatile long i = 0; i < n; i++)
        if (!sigsetjmp(here, 1)) {
            setitimer(ITIMER_REAL, &timer, NULL);
            for (;;)
                sum(0, 0);
        }
}

static void* call_until_canceled(void* unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        sum(0, 0);
    return unused;
}

static void cancel(long n) {
    pthread_t thread;
    while (n-- > 0) {
        if (pthread_create(&thread, NULL, call_until_canceled, NULL) || usleep(2000) ||
            pthread_cancel(thread) || pthread_join(thread, NULL))
            fail("a thread");
    }
}

static void* call_for_ever(void* unused) {
    for (;;)
        sum(1, 2);
    return unused;
}

static void hurry(long n) {
    pthread_t thread;
    while (n-- > 0)
        if (pthread_create(&thread, NULL, call_for_ever, NULL))
            fail("a thread");
}

static void scribble(long n) {
    FILE* const maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin = 0, end = 0;
        if (strstr(line, "memfd:djstap") && sscanf(line, "%lx-%lx", &begin, &end) == 2 &&
            end - begin == 1 << 20 && --n == 0)
            memset((void*)begin, 0xff, end - begin);
    }
    if (maps)
        fclose(maps);
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char* const action = argv[i];
        const long n = i + 1 < argc && atol(argv[i + 1]) > 0 ? atol(argv[++i]) : 0;
        if (!strcmp(action, "sum"))
            call_sum((void*)n);
        else if (!strcmp(action, "apart"))
            run_thread(NULL, call_sum, n);
        else if (!strcmp(action, "moved"))
            run_moved(n);
        else if (!strcmp(action, "wait"))
            read_line();
        else if (!strcmp(action, "seal"))
            seal();
        else if (!strcmp(action, "abandon"))
            abandon(n);
        else if (!strcmp(action, "interrupt"))
            interrupt(n);
        else if (!strcmp(action, "cancel"))
            cancel(n);
        else if (!strcmp(action, "hurry"))
            hurry(n);
        else if (!strcmp(action, "exec")) {
            usleep(100000);
            execv("/proc/self/exe", argv + i);
        } else if (!strcmp(action, "scribble"))
            scribble(n);
    }
    puts("done");
    return 0;
}
