// SPDX-License-Identifier: GPL-2.0-or-later
// Makes stacks of at least sixty of its own frames, each along another path through functions of
// many kinds, and stops itself at the end of each: whoever is its parent may look at it, and lets
// it go on.
//
//   sixty_frames COUNT COMMAND...   COUNT stacks; at each, runs COMMAND, to which the process's
//   number is appended sixty_frames COUNT              the same without stopping: for measurements
#include <algorithm>
#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>

#define OWN [[gnu::noinline]]

namespace {

constexpr int least_depth = 60;
bool stopping;
unsigned seed = 20261126;

unsigned random_number() {
    seed = seed * 1103515245 + 12345;
    return seed >> 16 & 0x7fff;
}

} // namespace

// The place of the user-space probe.
extern "C" OWN int sampled(int depth);
int sampled(int depth) {
    long result = SYS_tkill;
    if (stopping)
        asm volatile("syscall"
                     : "+a"(result)
                     : "D"(gettid()), "S"(SIGSTOP)
                     : "rcx", "r11", "memory");
    return depth + static_cast<int>(result & 1);
}

namespace {

int down(int depth);

template <int Words> OWN int with_room(int depth) {
    volatile long room[Words];
    room[depth % Words] = depth;
    return down(depth) + static_cast<int>(room[depth % Words]);
}

OWN int aligned(int depth) {
    alignas(64) volatile char room[128];
    room[depth % 128] = 2;
    return down(depth) + room[depth % 128];
}

OWN int of_any_size(int depth) {
    auto* room = static_cast<volatile char*>(__builtin_alloca(random_number() % 500 + 16));
    room[depth % 16] = 3;
    return down(depth) + room[depth % 16];
}

struct Shape {
    virtual ~Shape() = default;
    virtual int act(int depth) = 0;
};
struct Side {
    virtual ~Side() = default;
    virtual int other(int depth) = 0;
    long unused = 0;
};
// A call through the second base goes through a thunk.
struct Both final : Shape, Side {
    int act(int depth) override { return down(depth) + 1; }
    int other(int depth) override { return down(depth) + static_cast<int>(unused); }
};

OWN int by_object(int depth) {
    const std::unique_ptr<Shape> shape(new Both);
    return shape->act(depth) + 1;
}

OWN int by_second_base(int depth) {
    const std::unique_ptr<Side> side(new Both);
    return side->other(depth) + 1;
}

OWN int by_function(int depth) {
    const std::string text(depth, 'x');
    const std::function<int(int)> function = [&text](int n) {
        return down(n) + static_cast<int>(text.size());
    };
    return function(depth) + 1;
}

OWN int by_library(int depth) {
    struct Both {
        int depth, result;
    } items[2] = {{depth, 0}, {depth, 0}};
    static thread_local bool* gone;
    bool went = false, *const before = gone;
    gone = &went;
    qsort(items, 2, sizeof items[0], [](const void* one, const void* other) {
        if (!*gone) {
            *gone = true;
            return down(static_cast<const Both*>(one)->depth);
        }
        return static_cast<const Both*>(one)->depth - static_cast<const Both*>(other)->depth;
    });
    gone = before;
    return items[0].depth;
}

OWN int once(int depth) {
    std::once_flag flag;
    int result = 0;
    std::call_once(flag, [&] { result = down(depth); });
    return result;
}

struct Visitor {
    int depth;
    OWN int operator()(long) const { return down(depth); }
    OWN int operator()(const std::string& text) const {
        return down(depth) + static_cast<int>(text.size());
    }
};

OWN int by_variant(int depth) {
    const std::variant<long, std::string> value =
        depth % 2 ? std::variant<long, std::string>(1L) : std::variant<long, std::string>("two");
    return std::visit(Visitor{depth}, value);
}

// Goes on from where an exception is handled.
OWN int from_handler(int depth) {
    try {
        if (depth >= 0)
            throw depth;
    } catch (int thrown) {
        return down(thrown) + 1;
    }
    return 0;
}

// Goes on while an exception passes: the unwinder calls the destructor's cleanup.
struct Leaving {
    int depth, *result;
    OWN ~Leaving() { *result = down(depth); }
};

OWN void throws(int depth, int* result) {
    const Leaving leaving{depth, result};
    throw 1;
}

OWN int while_unwinding(int depth) {
    int result = 0;
    try {
        throws(depth, &result);
    } catch (int) {
        result++;
    }
    return result;
}

thread_local int signalled_depth, signalled_result;

void on_signal(int) {
    signalled_result = down(signalled_depth);
}

OWN int by_signal(int depth) {
    signalled_depth = depth;
    raise(SIGUSR1);
    return signalled_result;
}

struct Coroutine {
    struct promise_type {
        int result = 0;
        Coroutine get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_value(int value) { result = value; }
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

Coroutine later(int depth) {
    const int result = down(depth);
    co_await std::suspend_always{};
    co_return result + 1;
}

OWN int by_coroutine(int depth) {
    const Coroutine coroutine = later(depth);
    coroutine.handle.resume();
    coroutine.handle.resume();
    const int result = coroutine.handle.promise().result;
    coroutine.handle.destroy();
    return result;
}

OWN int many_arguments(int depth, long a, long b, long c, long d, long e, long f, long g) {
    return down(depth) + static_cast<int>(a + b + c + d + e + f + g);
}

OWN int in_last_place(int depth) {
    return with_room<3>(depth); // by a jump
}

OWN int by_map(int depth) {
    std::map<int, int> numbers;
    numbers[depth] = down(depth);
    return numbers.begin()->second;
}

int down(int depth) {
    if (--depth <= 0)
        return sampled(depth) + 1;
    switch (random_number() % 17) {
    case 0:
        return with_room<5>(depth) + 1;
    case 1:
        return with_room<301>(depth) + 1;
    case 2:
        return aligned(depth) + 1;
    case 3:
        return of_any_size(depth) + 1;
    case 4:
        return by_object(depth) + 1;
    case 5:
        return by_second_base(depth) + 1;
    case 6:
        return by_function(depth) + 1;
    case 7:
        return by_library(depth) + 1;
    case 8:
        return once(depth) + 1;
    case 9:
        return by_variant(depth) + 1;
    case 10:
        return from_handler(depth) + 1;
    case 11:
        return while_unwinding(depth) + 1;
    case 12:
        return by_signal(depth) + 1;
    case 13:
        return by_coroutine(depth) + 1;
    case 14:
        return many_arguments(depth, 1, 2, 3, 4, 5, 6, 7) + 1;
    case 15:
        return in_last_place(depth) + 1;
    default:
        return by_map(depth) + 1;
    }
}

// Every other stack is that of a thread.
void make(int count) {
    for (int i = 0; i < count; i++)
        if (i % 2)
            std::thread([] { down(least_depth / 2); }).join();
        else
            down(least_depth / 2);
}

long nanoseconds() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

void measure(int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) {
        long least = 0;
        for (int run = 0; run < 7; run++) {
            seed = static_cast<unsigned>(i);
            const long before = nanoseconds();
            down(least_depth / 2);
            const long taken = nanoseconds() - before;
            least = run && least < taken ? least : taken;
        }
        sum += least;
    }
    printf("%ld\n", sum / count);
}

// Returns 0 if the process had `count` stacks.
int look_at(pid_t process, int count, const std::string& command) {
    int status, stops = 0;
    while (waitpid(process, &status, WUNTRACED) == process && WIFSTOPPED(status)) {
        stops++;
        printf("looks %d\n", stops);
        fflush(stdout);
        if (system((command + std::to_string(process)).c_str()))
            printf("failed\n");
        kill(process, SIGCONT);
    }
    return stops == count && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2)
        return 2;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, nullptr);
    const int count = atoi(argv[1]);
    stopping = argc > 2;
    if (!stopping) {
        measure(count);
        return 0;
    }
    const pid_t child = fork();
    if (!child) {
        make(count);
        return 0;
    }
    std::string command;
    for (int i = 2; i < argc; i++)
        command += argv[i] + std::string(" ");
    return look_at(child, count, command);
}
