// SPDX-License-Identifier: GPL-2.0-or-later
// A process that djstap attaches to. It prints "spinning", calls sum() until there is a line to
// read, and says whether all went right. Its argument is how:
//
// - spin: nothing else
// - faults: pages are protected again and again, and a signal's handler makes the one accessible
//   that the signal names
// - leaderless: its first thread ends when there is a line; another one ends the process at the
//   next line
// - traced: a child traces it
// - sleepy: it sleeps between calls of sum(), in a function that leaves most of its frame as it is
// - crowd: 100 threads call sum() in turns; none calls it again before all others have
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16 };
static volatile long sink;
static volatile bool wrong, over;
static char* pages;

__attribute__((noinline, noclone)) int sum(int a, long b) {
    sink = a;
    return a + (int)b;
}

static void open_page(int number, siginfo_t* details, void* context) {
    (void)number;
    (void)context;
    char* const at = details->si_addr;
    if (details->si_code != SEGV_ACCERR || at < pages || at >= pages + PAGES * PAGE) {
        wrong = true;
        mprotect(pages, PAGES * PAGE, PROT_READ | PROT_WRITE);
        return;
    }
    mprotect((char*)((unsigned long)at & ~(PAGE - 1ul)), PAGE, PROT_READ | PROT_WRITE);
}

static bool sleepy;

__attribute__((noinline, noclone)) static void doze(void) {
    char gap[4096];
    __asm__ volatile("" : : "r"(gap) : "memory");
    usleep(20000);
}

static void turn(bool faults) {
    for (int i = 0; i < PAGES; i++) {
        if (faults)
            pages[i * PAGE + 8 * i] = 1;
        if (sum(i, 2) != i + 2)
            wrong = true;
    }
    if (faults)
        mprotect(pages, PAGES * PAGE, PROT_NONE);
    if (sleepy)
        doze();
}

static void* spin(void* unused) {
    while (!over)
        turn(false);
    return unused;
}

static pthread_barrier_t turns;
static void* take_turns(void* unused) {
    for (;;) {
        turn(false);
        pthread_barrier_wait(&turns);
    }
    return unused;
}
static void gather(void) {
    enum { CROWD = 100 };
    pthread_t thread;
    pthread_barrier_init(&turns, NULL, CROWD);
    for (int i = 0; i < CROWD; i++)
        pthread_create(&thread, NULL, take_turns, NULL);
}

static void* read_on(void* unused) {
    (void)unused;
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        wrong = true;
    puts(wrong ? "wrong" : "right");
    fflush(stdout);
    exit(0);
}

static void* end_spinning(void* unused) {
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        wrong = true;
    over = true;
    return unused;
}

static void have_a_tracer(void) {
    int ready[2];
    char byte = 0;
    if (pipe(ready))
        exit(1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        byte = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
        if (write(ready[1], &byte, 1) == 1)
            waitpid(getppid(), NULL, __WALL); // until it ends
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1 || !byte)
        wrong = true;
}

int main(int argc, char** argv) {
    const char* const way = argc > 1 ? argv[1] : "spin";
    const bool faults = !strcmp(way, "faults");
    pthread_t thread, reader;
    pages = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = open_page;
    sigaction(SIGSEGV, &action, NULL);
    if (!strcmp(way, "crowd")) {
        gather();
        puts("spinning");
        fflush(stdout);
        read_on(NULL);
    }
    sleepy = !strcmp(way, "sleepy");
    if (!strcmp(way, "traced"))
        have_a_tracer();
    if (!strcmp(way, "leaderless")) {
        pthread_create(&thread, NULL, spin, NULL);
        puts("spinning");
        fflush(stdout);
        end_spinning(NULL);
        over = false;
        pthread_create(&thread, NULL, spin, NULL);
        pthread_create(&reader, NULL, read_on, NULL);
        pthread_exit(NULL);
    }
    // The first thread has the faults, and executes what djstap asks for.
    pthread_create(&reader, NULL, end_spinning, NULL);
    puts("spinning");
    fflush(stdout);
    while (!over)
        turn(faults);
    puts(wrong ? "wrong" : "right");
    return 0;
}
