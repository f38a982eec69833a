// SPDX-License-Identifier: GPL-2.0-or-later
// Makes stacks of all kinds, and tells of each what it consists of: by the C library's own
// unwinder, right before a system call from the innermost function.
//   deep NAME COUNT [LIBRARY]   NAME: of its lines. LIBRARY: has another step(), loaded half way.
//   Begins at a line of
//                               standard input; a child of it, and the program executed again, make
//                               as many stacks.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <memory>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" int step(int n, int (*next)(int));

namespace {

unsigned seed = 7;
const char* name;
int (*chosen_step)(int, int (*)(int)) = step;

int down(int n);

[[gnu::noinline]] int leaf() {
    void* callers[128];
    const int count = backtrace(callers, 128);
    const long result = syscall(SYS_getpriority, 0, 0);
    // Without this function itself. One write, and no memory that a signal may have interrupted.
    char line[128 * 20];
    int at = snprintf(line, sizeof line, "P %s %d", name, static_cast<int>(getpid()));
    for (int i = 1; i < count; i++)
        at += snprintf(line + at, sizeof line - static_cast<size_t>(at), " %p", callers[i]);
    line[at++] = '\n';
    return write(1, line, static_cast<size_t>(at)) == at && result ? 1 : 0;
}

[[gnu::noinline]] int aligned(int n) {
    alignas(64) volatile char room[128];
    room[n] = 2;
    return down(n) + room[n];
}

[[gnu::noinline]] int variable(int n) {
    auto* room = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(n) * 16 + 16));
    room[n] = 3;
    return down(n) + room[n];
}

int left; // for what cannot pass a number

[[gnu::noinline]] int sorting(int n) {
    int items[2] = {2, 1};
    left = n + 1;
    qsort(items, 2, sizeof items[0], [](const void* a, const void* b) {
        const int rest = left;
        left = 0;
        if (rest)
            down(rest - 1);
        return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    return items[0] + n;
}

void on_signal(int) {
    down(left);
}

[[gnu::noinline]] int signalled(int n) {
    left = n;
    raise(SIGUSR1);
    return n;
}

struct Base {
    virtual ~Base() = default;
    virtual int act(int n) = 0;
};
struct Derived final : Base {
    int act(int n) override {
        try {
            if (n < 0)
                throw n;
            return down(n) + 1;
        } catch (int other) {
            return other;
        }
    }
};

[[gnu::noinline]] int object(int n) {
    const std::unique_ptr<Base> base(new Derived);
    return base->act(n) + 1;
}

int down(int n) {
    if (n <= 0)
        return leaf();
    n--;
    seed = seed * 1103515245 + 12345;
    switch (seed >> 16 & 7) {
    case 0:
        return chosen_step(n, down) + 1;
    case 1:
        return aligned(n) + 1;
    case 2:
        return variable(n) + 1;
    case 3:
        return sorting(n) + 1;
    case 4:
        return signalled(n) + 1;
    case 5:
        return object(n) + 1;
    default:
        return down(n) + static_cast<int>(seed & 1);
    }
}

void make(int count) {
    for (int i = 0; i < count; i++)
        down(i % 24);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, nullptr);
    name = argv[1];
    const int count = atoi(argv[2]);
    void* warm[1];
    backtrace(warm, 1); // loads the unwinder
    const bool again = strcmp(argv[argc - 1], "again") == 0;
    if (!again && getchar() == EOF)
        return 3;
    make(count);
    if (again)
        return 0;
    if (argc > 3) {
        void* library = dlopen(argv[3], RTLD_NOW);
        if (!library)
            return 4;
        chosen_step = reinterpret_cast<int (*)(int, int (*)(int))>(dlsym(library, "step"));
        make(count);
    }
    const pid_t child = fork();
    if (!child) {
        make(count);
        return 0;
    }
    waitpid(child, nullptr, 0);
    char word[] = "again";
    char* arguments[] = {argv[0], argv[1], argv[2], word, nullptr};
    execv("/proc/self/exe", arguments);
    return 5;
}
