// SPDX-License-Identifier: GPL-2.0-or-later
// A process that djstap attaches to. It prints "spinning", calls sum() until there is a line to
// read, and says whether all went right. Its argument is how:
//
// - spin: nothing else
// - faults: pages are protected again and again, and a signal's handler makes the one accessible
//   that the signal names
// - signalled: its first thread prints "received" when it gets SIGUSR1
// - leaderless: its first thread ends when there is a line; another one ends the process at the
//   next line
// - traced: a child traces it
// - sleepy: it sleeps between calls of sum(), in a function that leaves most of its frame as it is
// - changes: it has changed the first instruction of adapted()
// - writable: its code may be written to
// - joined: a thread's stack is the begin of a mapping of a terabyte
// - sharing: a child that runs in the same memory calls sum(), too
// - forking: its children call sum(), one after the other, while it does
// - stacked: SIGUSR1's handler is interrupted by SIGUSR2's, which waits on a stack of its own
// - begets: at the first line, it creates a child, which creates another one; both call sum() until
//   SIGTERM, and it prints their numbers
// - execs: at the first line, it executes itself, to spin
// - careful: its first thread looks after its signals, its system calls and a number in a vector
//   register
// - cramped: what is below the red zone of its first thread's stack belongs to somebody else
// - gs: its first thread uses the gs register
// - crowd: 100 threads call sum() in turns; none calls it again before all others have
#define _GNU_SOURCE // clone
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
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

static void receive(int number, siginfo_t* details, void* context) {
    (void)number;
    (void)context;
    if (details->si_code != SI_USER || write(1, "received\n", 9) != 9)
        wrong = true;
}

static bool sleepy;

__attribute__((noinline, noclone)) static void doze(void) {
    char gap[4096];
    __asm__ volatile("" : : "r"(gap) : "memory");
    usleep(20000);
}

// Whoever stops the thread here may leave nothing behind.
static void take_care(void) {
    sigset_t blocked;
    double number = (double)sink + 0.5;
    __asm__ volatile("" : "+x"(number));
    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) || sigismember(&blocked, SIGALRM) ||
        sigismember(&blocked, SIGTERM))
        wrong = true;
    if (usleep(300))
        wrong = true;
    for (volatile int i = 0; i < 1000; i++)
        __asm__ volatile("" : "+x"(number));
    if (number != (double)sink + 0.5)
        wrong = true;
}

static void look_below(void) {
    bool differs = false;
    __asm__ volatile("lea -1024(%%rsp), %%rdi\n\tmov $112, %%ecx\n\trep stosq\n\t"
                     "mov $1000000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\t"
                     "lea -1024(%%rsp), %%rdi\n\tmov $112, %%ecx\n\trepe scasq\n\tsetne %0"
                     : "=r"(differs)
                     : "a"(0x5a5a5a5a5a5a5a5aul)
                     : "rdi", "rcx", "memory", "cc");
    if (differs)
        wrong = true;
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

static void spin_below(pthread_t* thread) {
    enum { STACK = 1 << 18 };
    pthread_attr_t attributes;
    char* const all = mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, all, STACK) ||
        pthread_create(thread, &attributes, spin, NULL))
        wrong = true;
}

// Returns a constant that the program changes.
long adapted(void);
__asm__(".text\n.globl adapted\n.type adapted, @function\nadapted:\n\tmov $1, "
        "%eax\n\tnop\n\tnop\n\tret\n"
        ".size adapted, .-adapted\n");

static void adapt(bool stays_writable) {
    char* const code = (char*)&adapted;
    char* const at = (char*)((unsigned long)code & ~(PAGE - 1ul));
    mprotect(at, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (stays_writable)
        return;
    code[1] = 2;
    mprotect(at, 2 * PAGE, PROT_READ | PROT_EXEC);
}

// It has the thread's memory of its parent, and calls nothing of a library.
static int share(void* unused) {
    (void)unused;
    while (!over)
        if (sum(1, 2) != 3)
            wrong = true;
    return 0;
}

static void* fork_often(void* unused) {
    while (!over) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0)
            _exit(sum(1, 2) != 3);
        if (waitpid(child, &status, 0) != child || status != 0)
            wrong = true;
    }
    return unused;
}

static void end_child(int number) {
    (void)number;
    _exit(wrong);
}

static void read_line(void) {
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        wrong = true;
}

static void* beget(void* unused) {
    read_line();
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGTERM, end_child);
        const pid_t grandchild = fork();
        if (grandchild != 0) {
            printf("%d %d\n", getpid(), grandchild);
            fflush(stdout);
        }
        for (;;)
            turn(false);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        wrong = true;
    return unused;
}

static void* execute(void* path) {
    read_line();
    execl(path, path, "spin", NULL);
    wrong = true;
    return NULL;
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

static void wait_for_end(int number) {
    (void)number;
    puts("waiting");
    fflush(stdout);
    while (!over)
        usleep(1000);
}

static void interrupt_again(int number) {
    (void)number;
    raise(SIGUSR2);
}

static void stack_handlers(void) {
    static char room[65536];
    const stack_t other = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&other, NULL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGUSR1, interrupt_again);
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = wait_for_end;
    sigaction(SIGUSR2, &action, NULL);
}

static bool uses_gs(void) {
    unsigned long base = 0;
    return syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (unsigned long)&sink;
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
    if (!strcmp(way, "changes") || !strcmp(way, "writable"))
        adapt(*way == 'w');
    if (!strcmp(way, "joined"))
        spin_below(&thread);
    static char stack[65536];
    pid_t child = 0;
    if (!strcmp(way, "sharing"))
        child = clone(share, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    pthread_t forker;
    const bool forks = !strcmp(way, "forking");
    if (forks)
        pthread_create(&forker, NULL, fork_often, NULL);
    if (!strcmp(way, "stacked"))
        stack_handlers();
    if (!strcmp(way, "signalled")) {
        action.sa_sigaction = receive;
        sigaction(SIGUSR1, &action, NULL);
    }
    if (!strcmp(way, "execs"))
        pthread_create(&thread, NULL, execute, argv[0]);
    const bool begets = !strcmp(way, "begets");
    if (begets)
        pthread_create(&thread, NULL, beget, NULL);
    const bool has_gs = !strcmp(way, "gs");
    if (has_gs)
        syscall(SYS_arch_prctl, ARCH_SET_GS, &sink);
    // The first thread has the faults, and executes what djstap asks for.
    sigset_t first;
    sigemptyset(&first);
    sigaddset(&first, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &first, NULL); // the reader must not wait for itself
    if (strcmp(way, "execs") && !begets)
        pthread_create(&reader, NULL, end_spinning, NULL);
    pthread_sigmask(SIG_UNBLOCK, &first, NULL);
    puts("spinning");
    fflush(stdout);
    if (begets) { // it ends when its child has ended, and there is another line
        while (pthread_tryjoin_np(thread, NULL))
            turn(false);
        read_line();
        over = true;
    }
    const bool careful = !strcmp(way, "careful"), cramped = !strcmp(way, "cramped");
    while (!over) {
        turn(faults);
        if (careful)
            take_care();
        if (cramped)
            look_below();
    }
    if (child)
        waitpid(child, NULL, 0);
    if (forks)
        pthread_join(forker, NULL);
    if (has_gs != uses_gs())
        wrong = true;
    if (adapted() != (strcmp(way, "changes") ? 1 : 2))
        wrong = true;
    puts(wrong ? "wrong" : "right");
    return 0;
}
