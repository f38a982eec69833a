// SPDX-License-Identifier: GPL-2.0-or-later
// A program whose calls and values are known. Each argument is an action:
//
// - sum N: calls sum(i, 2 * i), i from 1 to N
// - shape: describes two shapes
// - many: passes nine arguments
// - threads N: N threads at the same time call sum(1, 2), 20,000 times each
// - series N: N threads, one after the other, call sum(1, 2) ten times each
// - fork N: N children, one after the other, call sum(1, 2)
// - vfork N: the same with vfork
// - jump N: leaves leave() by longjmp N times
// - throw N: leaves thrower(), two calls deep, by an exception N times, and says how many were
//   caught
// - cancel: cancels a thread in hang()
// - trace: prints the names of the functions that called it, as backtrace() finds them
// - signals N: a timer's signals call sum(1, 2) until there were N, while the program calls it:
//   says how often in all
// - forks N: the same with a child for each signal, which returns from the handler, too
// - alternate: a signal calls sum(1, 2) on a small stack of its own
// - steps: counts the instructions of a call of four(), by single steps of a child that traces it,
//   and says the least number
// - nanoseconds N: N times, measures calls of four() by the thread's CPU time, with pauses, and
//   says the least time of one, in 1/100 ns
// - short: calls functions that are too short for a jump, or that something jumps into
// - exec: executes the program once more, with the actions that follow
// - wait: reads a line
// - end: ends by SIGKILL
// - early: as the first action, signals arrive from before the program's entry on, up to this
//   action
// - confine: forbids itself arch_prctl
// - returns: calls functions that return at several places, in one jump with their entry, or by a
//   jump to another function
// - fact N: calls fact(N), which calls itself
// - leap N: calls leap(i), i from 1 to N, which leaves by longjmp if i is odd
// - turns: two coroutines call take_turn(), and return from it in the opposite order, one of them
// in
//   another thread
// - spin N: N threads call sum(1, 2) and fact(3), until there is a line to read
// - crowd N: N threads call sum(1, 2) ten times each while all of them exist
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define OUTLINE extern "C" __attribute__((noinline, noclone))

struct shape {
    int id;
    const char* name;
    shape* next;
};

// One signal at a time: the next one comes some time after the handler, so that the program gets on
// however slowly its tracer runs.
void send_signal(long microseconds) {
    itimerval timer{{0, 0}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}
void send_another(int) {
    send_signal(300);
}
// The dynamic loader calls it before it enters the program.
void begin_early(int count, char** arguments, char**) {
    if (count < 2 || strcmp(arguments[1], "early") != 0)
        return;
    signal(SIGALRM, send_another);
    send_signal(300);
}
__attribute__((section(".preinit_array"), used)) void (*const early)(int, char**,
                                                                     char**) = begin_early;

volatile long sink;
int level = 7;
static jmp_buf here;

OUTLINE int sum(int a, long b) {
    sink = a;
    return a + static_cast<int>(b);
}
OUTLINE void describe(shape* shape, const char* text, char c) {
    sink = shape->id + text[0] + c;
}
OUTLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    sink = a;
    return a + b + c + d + e + f + g + h + i;
}
OUTLINE void four(long a, long b, long c, long d) {
    sink = a + b + c + d;
}
OUTLINE void leave(int n) {
    sink = n;
    longjmp(here, n);
}
OUTLINE void thrower(int n) {
    sink = n;
    if (n >= 0)
        throw std::runtime_error("thrown");
}
OUTLINE void middle(int n) {
    thrower(n);
    sink = n;
}
OUTLINE long fact(long n) {
    if (n < 2)
        return 1;
    const long before = fact(n - 1);
    sink = before;
    return n * before;
}
OUTLINE int leap(int n) {
    sink = n;
    if (n % 2)
        leave(n);
    sink = -n;
    return 10 * n;
}
OUTLINE void hang(int* ready) {
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}
OUTLINE void print_trace(const char* first) {
    void* addresses[32];
    const int count = backtrace(addresses, 32);
    char** names = backtrace_symbols(addresses, count);
    for (int i = 1; i < count; i++) {
        const char* open = strchr(names[i], '(');
        printf("%s%.*s", i > 1 ? " " : first, static_cast<int>(strcspn(open + 1, "+)")), open + 1);
    }
    free(names);
    printf("\n");
    sink = count;
}
OUTLINE void outer(const char* first) {
    print_trace(first);
    sink = 0;
}

static ucontext_t all_turns, turns[2];
OUTLINE long take_turn(long which) {
    swapcontext(&turns[which], &all_turns);
    sink = which;
    return 10 * which;
}
static void run_turn(int which) {
    sink = take_turn(which) + 1;
}
static void* resume_turn(void*) {
    swapcontext(&all_turns, &turns[0]);
    return nullptr;
}
static void take_turns() {
    static char stacks[2][65536];
    for (int i = 0; i < 2; i++) {
        getcontext(&turns[i]);
        turns[i].uc_stack.ss_sp = stacks[i];
        turns[i].uc_stack.ss_size = sizeof stacks[i];
        turns[i].uc_link = &all_turns;
        makecontext(&turns[i], reinterpret_cast<void (*)()>(run_turn), 1, i);
        swapcontext(&all_turns, &turns[i]);
    }
    swapcontext(&all_turns, &turns[1]);
    pthread_t thread;
    pthread_create(&thread, nullptr, resume_turn, nullptr);
    pthread_join(thread, nullptr);
}

// choose() returns at two places, same() in the jump that replaces its entry, and passes() by a
// jump to another function; countdown() jumps back to its entry.
extern "C" long choose(long n);
extern "C" long same(long n);
extern "C" long passes(long n);
extern "C" long countdown(long n);
asm(".text\n.p2align 4\n"
    ".globl choose\n.type choose, @function\n"
    "choose: test %rdi, %rdi\n jle 1f\n lea 1(%rdi), %rax\n ret\n .p2align 4\n"
    "1: mov $-5, %rax\n ret\n"
    ".size choose, .-choose\n.p2align 4\n"
    ".globl same\n.type same, @function\n"
    "same: lea (%rdi,%rdi), %rax\n ret\n"
    ".size same, .-same\n.p2align 4\n"
    ".globl passes\n.type passes, @function\n"
    "passes: add $1, %rdi\n jmp same\n"
    ".size passes, .-passes\n.p2align 4\n"
    ".globl countdown\n.type countdown, @function\n"
    "countdown: endbr64\n1: sub $1, %rdi\n jnz 1b\n mov %rdi, %rax\n ret\n"
    ".size countdown, .-countdown\n.p2align 4\n");

// A jump leads to the second instruction; the others are shorter than a jump.
extern "C" int entered(int n);
extern "C" int tiny(int n);
asm(".text\n"
    ".globl entered\n.type entered, @function\n"
    "entered: xor %eax, %eax\n"
    "1: inc %eax\n dec %edi\n jnz 1b\n ret\n"
    ".size entered, .-entered\n"
    ".globl tiny\n.type tiny, @function\n"
    "tiny: mov %edi, %eax\n ret\n"
    ".size tiny, .-tiny\n"
    ".globl neighbour\n.type neighbour, @function\n"
    "neighbour: ret\n"
    ".size neighbour, .-neighbour\n");

static void* call_often(void*) {
    for (int i = 0; i < 20000; i++)
        sum(1, 2);
    return nullptr;
}
static void* call_ten(void*) {
    for (int i = 0; i < 10; i++)
        sum(1, 2);
    return nullptr;
}
static void* hang_on(void* ready) {
    hang(static_cast<int*>(ready));
    return nullptr;
}

static volatile sig_atomic_t signals_seen;
static void on_signal(int) {
    signals_seen = signals_seen + 1;
    sum(1, 2);
}

static void threads(int n) {
    pthread_t all[128];
    for (int i = 0; i < n; i++)
        pthread_create(&all[i], nullptr, call_often, nullptr);
    for (int i = 0; i < n; i++)
        pthread_join(all[i], nullptr);
}
static void series(int n) {
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, call_ten, nullptr);
        pthread_join(thread, nullptr);
    }
}
static volatile bool spinning = true;
static void* spin_on(void* wrong) {
    while (spinning)
        if (sum(1, 2) != 3 || fact(3) != 6)
            *static_cast<volatile bool*>(wrong) = true;
    return nullptr;
}
static void spin(int n) {
    static bool wrong;
    pthread_t all[128];
    for (int i = 0; i < n; i++)
        pthread_create(&all[i], nullptr, spin_on, &wrong);
    printf("spinning\n");
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        line[0] = 0;
    spinning = false;
    for (int i = 0; i < n; i++)
        pthread_join(all[i], nullptr);
    printf(wrong ? "wrong\n" : "right\n");
}
static pthread_barrier_t gathered;
static void* call_in_crowd(void*) {
    pthread_barrier_wait(&gathered);
    call_ten(nullptr);
    pthread_barrier_wait(&gathered);
    return nullptr;
}
static void crowd(int n) {
    pthread_t all[128];
    pthread_barrier_init(&gathered, nullptr, static_cast<unsigned>(n));
    for (int i = 0; i < n; i++)
        pthread_create(&all[i], nullptr, call_in_crowd, nullptr);
    for (int i = 0; i < n; i++)
        pthread_join(all[i], nullptr);
}
static void confine() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
static void children(int n, bool share) {
    for (int i = 0; i < n; i++) {
        const pid_t child = share ? vfork() : fork();
        if (child == 0) {
            sum(1, 2);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
}
static void throw_often(int n) {
    int caught = 0;
    for (int i = 0; i < n; i++)
        try {
            middle(i);
        } catch (const std::runtime_error&) {
            caught++;
        }
    printf("caught %d\n", caught);
}
static void cancel() {
    int ready = 0;
    pthread_t thread;
    void* result = nullptr;
    pthread_create(&thread, nullptr, hang_on, &ready);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s\n", result == PTHREAD_CANCELED ? "canceled" : "returned");
}
static volatile bool is_child;
static void on_fork(int) {
    signals_seen = signals_seen + 1;
    is_child = fork() == 0;
    sum(1, 2);
}
static void signals(int n, bool forks) {
    signal(SIGCHLD, SIG_IGN);
    signal(SIGALRM, forks ? on_fork : on_signal);
    const itimerval every = {{0, forks ? 3000 : 100}, {0, 100}}, never = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    long calls = 0;
    for (; signals_seen < n && !is_child; calls++)
        sum(1, 2);
    if (is_child)
        _exit(0);
    setitimer(ITIMER_REAL, &never, nullptr);
    if (!forks)
        printf("%ld\n", calls + signals_seen);
}
static void alternate() {
    static char stack[16384];
    const stack_t other = {stack, 0, sizeof stack};
    struct sigaction action = {};
    sigaltstack(&other, nullptr);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
}
// Steps the process from each arrival at four() until it has returned.
static int count_steps(pid_t process) {
    int status = 0;
    user_regs_struct registers = {};
    if (ptrace(PTRACE_SEIZE, process, nullptr, nullptr) ||
        ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr) ||
        waitpid(process, &status, __WALL) != process)
        return -1;
    auto step = [&] {
        ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr);
        waitpid(process, &status, __WALL);
        ptrace(PTRACE_GETREGS, process, nullptr, &registers);
    };
    int least = 1 << 20;
    for (int calls = 0; calls < 10; calls++) {
        do
            step();
        while (registers.rip != reinterpret_cast<unsigned long>(&four));
        const unsigned long stack = registers.rsp;
        int steps = 0;
        for (; registers.rsp <= stack; steps++)
            step();
        if (steps < least)
            least = steps;
    }
    ptrace(PTRACE_DETACH, process, nullptr, nullptr);
    return least;
}
static void steps() {
    auto* const result = static_cast<volatile int*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        *result = count_steps(getppid());
        _exit(0);
    }
    while (!*result)
        four(1, 2, 3, 4);
    waitpid(child, nullptr, 0);
    printf("%d\n", *result);
}
static void nanoseconds(int n) {
    constexpr int calls = 1000;
    double least = 1e9;
    for (int i = 0; i < n; i++) {
        usleep(10000); // the reader empties the buffer
        timespec before, after;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        for (int k = 0; k < calls; k++)
            four(k, 2, 3, 4);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        const double one =
            ((after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec)) / calls;
        if (one < least)
            least = one;
    }
    printf("%.0f\n", 100 * least);
}
static void wait_for_line() {
    char line[16];
    printf("%s", fgets(line, sizeof line, stdin) ? line : "nothing\n");
}

int main(int argc, char** argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char* action = argv[i];
        const bool has_number = i + 1 < argc && atoi(argv[i + 1]) > 0;
        const int n = has_number ? atoi(argv[++i]) : 0;
        if (!strcmp(action, "sum")) {
            for (int k = 1; k <= n; k++)
                sum(k, 2 * k);
        } else if (!strcmp(action, "shape")) {
            shape square = {2, "square", nullptr}, circle = {1, "circle", &square};
            describe(&circle, "hello", 'x');
            describe(&square, "you", 'y');
        } else if (!strcmp(action, "many")) {
            printf("%ld\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9));
        } else if (!strcmp(action, "threads")) {
            threads(n);
        } else if (!strcmp(action, "series")) {
            series(n);
        } else if (!strcmp(action, "fork") || !strcmp(action, "vfork")) {
            children(n, *action == 'v');
        } else if (!strcmp(action, "jump")) {
            for (volatile int k = 1; k <= n; k = k + 1)
                if (!setjmp(here))
                    leave(k);
        } else if (!strcmp(action, "throw")) {
            throw_often(n);
        } else if (!strcmp(action, "cancel")) {
            cancel();
        } else if (!strcmp(action, "trace")) {
            outer("");
        } else if (!strcmp(action, "signals") || !strcmp(action, "forks")) {
            signals(n, *action == 'f');
        } else if (!strcmp(action, "alternate")) {
            alternate();
        } else if (!strcmp(action, "steps")) {
            steps();
        } else if (!strcmp(action, "nanoseconds")) {
            nanoseconds(n);
        } else if (!strcmp(action, "short")) {
            printf("%d %d\n", entered(3), tiny(4));
        } else if (!strcmp(action, "exec")) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        } else if (!strcmp(action, "wait")) {
            wait_for_line();
        } else if (!strcmp(action, "early")) {
            signal(SIGALRM, SIG_IGN);
        } else if (!strcmp(action, "returns")) {
            const long all[] = {choose(7), choose(-7), same(4), passes(4), countdown(3)};
            printf("%ld %ld %ld %ld %ld\n", all[0], all[1], all[2], all[3], all[4]);
        } else if (!strcmp(action, "fact")) {
            printf("%ld\n", fact(n));
        } else if (!strcmp(action, "leap")) {
            for (volatile int k = 1; k <= n; k = k + 1)
                if (!setjmp(here))
                    sink = leap(k) + 1;
        } else if (!strcmp(action, "turns")) {
            take_turns();
        } else if (!strcmp(action, "spin")) {
            spin(n);
        } else if (!strcmp(action, "crowd")) {
            crowd(n);
        } else if (!strcmp(action, "confine")) {
            confine();
        } else if (!strcmp(action, "end")) {
            kill(getpid(), SIGKILL);
        }
    }
    printf("done\n");
    return 0;
}
