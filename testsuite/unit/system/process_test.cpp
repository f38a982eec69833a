// SPDX-License-Identifier: GPL-2.0-or-later
// What programs inherit, what is read of them, and when they are waited for.
#include "system/file.h"
#include "system/process.h"

#include "../surroundings.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

// A line of /proc/self/status of a program that is started so, as a number.
uint64_t mask_of(const std::string& field, bool bound) {
    ProcessOptions options;
    options.bound = bound;
    const auto outcome = run_program({"grep", field, "/proc/self/status"}, {}, options);
    EXPECT_TRUE(outcome && outcome->status == 0);
    return std::stoull(outcome->output.substr(outcome->output.find('\t')), nullptr, 16);
}

TEST(NewPrograms, BlockAndIgnoreNoSignals) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
    const auto too_large = signal(SIGXFSZ, SIG_IGN), interrupt = signal(SIGINT, SIG_IGN);
    for (const bool bound : {false, true}) {
        EXPECT_EQ(mask_of("SigBlk", bound), 0U) << bound;
        const uint64_t ignored = mask_of("SigIgn", bound);
        for (const int each : {SIGXFSZ, SIGINT})
            EXPECT_EQ(ignored >> (each - 1) & 1, 0U) << each << bound;
    }
    signal(SIGXFSZ, too_large);
    signal(SIGINT, interrupt);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(NewPrograms, OutputHasALimit) {
    const auto output = [](size_t most) {
        OutputOptions wanted;
        wanted.most = most;
        const auto outcome =
            run_program({"sh", "-c", "printf 12345; sleep 0.01; printf 67890"}, wanted);
        EXPECT_TRUE(outcome && outcome->status == 0);
        return outcome->output;
    };
    EXPECT_EQ(output(0), "");
    EXPECT_EQ(output(4), "1234");
    EXPECT_EQ(output(5), "12345");
    EXPECT_EQ(output(7), "1234567");
    EXPECT_EQ(output(10), "1234567890");
    EXPECT_EQ(output(11), "1234567890");
}

TEST(NewPrograms, LinesMayComeInPieces) {
    std::vector<std::string> lines;
    OutputOptions wanted;
    wanted.line = [&](std::string_view line) { lines.emplace_back(line); };
    ASSERT_TRUE(run_program({"sh", "-c", "printf 'a\\n\\nb'; sleep 0.01; printf 'c\\nd'"}, wanted));
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "bc"}));
    lines.clear();
    ASSERT_TRUE(run_program({"sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; echo"}, wanted));
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0], std::string(200000, 'x'));
}

TEST(NewPrograms, NeedDescriptors) {
    auto child = Process::fork([] {
        const rlimit none{3, 3};
        setrlimit(RLIMIT_NOFILE, &none);
        const auto outcome = run_program({"true"});
        const auto held = Process::hold({"true"});
        _exit(!outcome && outcome.failure().message == "cannot run true: Too many open files" &&
                      !held && held.failure().message == "Too many open files"
                  ? 0
                  : 1);
    });
    ASSERT_TRUE(child);
    EXPECT_EQ(exit_status(child->wait()), 0);
}

TEST(HeldPrograms, RunOnceTheyAreReleased) {
    auto held = Process::hold({"sleep", "100"});
    ASSERT_TRUE(held);
    EXPECT_EQ(held->release(), 0);
    EXPECT_TRUE(held->running()) << "nobody waits for its end";
    EXPECT_FALSE(held->poll_status());
    held->kill();
    EXPECT_FALSE(held->running());
    EXPECT_EQ(exit_status(*held->poll_status()), 128 + SIGKILL);
    held->kill(); // again
    EXPECT_EQ(exit_status(held->wait()), 128 + SIGKILL);
}

TEST(HeldPrograms, MayEndBefore) {
    const auto before = signal(SIGPIPE, SIG_IGN);
    auto held = Process::hold({"true"});
    ASSERT_TRUE(held);
    kill(held->pid(), SIGKILL);
    siginfo_t ended;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(held->pid()), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(held->release(), ESRCH);
    EXPECT_FALSE(held->running());
    EXPECT_EQ(exit_status(held->wait()), 128 + SIGKILL);
    signal(SIGPIPE, before);
}

TEST(Processes, AreMovedAsAWhole) {
    auto first = Process::start({"sh", "-c", "exit 7"}), second = Process::start({"sleep", "100"});
    ASSERT_TRUE(first && second);
    const pid_t ends = first->pid(), sleeps = second->pid();
    std::swap(*first, *second);
    EXPECT_EQ(first->pid(), sleeps);
    EXPECT_EQ(second->pid(), ends);
    EXPECT_EQ(exit_status(second->wait()), 7);
    EXPECT_TRUE(first->running());
    EXPECT_FALSE(second->running());
    Process third = std::move(*first);
    EXPECT_EQ(third.pid(), sleeps);
    EXPECT_TRUE(third.running());
    third.kill();
    EXPECT_EQ(exit_status(*third.poll_status()), 128 + SIGKILL);
}

TEST(Processes, StatusesAreThoseOfAShell) {
    for (const int status : {0, 1, 3, 127, 255}) {
        auto process = Process::start({"sh", "-c", "exit " + std::to_string(status)});
        ASSERT_TRUE(process);
        EXPECT_EQ(exit_status(process->wait()), status);
    }
    for (const int number : {SIGTERM, SIGKILL, SIGUSR1}) {
        auto process = Process::start({"sh", "-c", "kill -" + std::to_string(number) + " $$"});
        ASSERT_TRUE(process);
        EXPECT_EQ(exit_status(process->wait()), 128 + number);
    }
}

TEST(SearchPath, IsTheStandardOneIfThereIsNone) {
    const test::Environment variable("PATH");
    const auto with = [&](const char* path) {
        variable.set(path);
        return search_path();
    };
    using Folders = std::vector<std::string>;
    EXPECT_EQ(with("/a:/b"), (Folders{"/a", "/b"}));
    EXPECT_EQ(with(""), Folders{"."});
    EXPECT_EQ(with(":"), (Folders{".", "."}));
    EXPECT_EQ(with("/a:"), (Folders{"/a", "."}));
    EXPECT_EQ(with("/a::b"), (Folders{"/a", ".", "b"}));
    variable.set(std::nullopt);
    char standard[256] = {};
    ASSERT_GT(confstr(_CS_PATH, standard, sizeof standard), 0U);
    const Folders without = search_path();
    EXPECT_EQ(without, with(standard));
}

} // namespace
} // namespace djstap
