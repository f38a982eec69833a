// SPDX-License-Identifier: GPL-2.0-or-later
// A process that runs, stopped and let go again.
#include "injection/traced_program.h"

#include "../regions/program.h"
#include "../surroundings.h"
#include "becomes.h"

#include "image/elf_file.h"
#include "injection/process_facts.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace djstap::injection {
namespace {

// Ends with 1 as soon as one of the signals that its second thread sends itself does not arrive.
[[noreturn]] void send_itself_signals() {
    static volatile sig_atomic_t handled;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, [](int) { handled = 1; });
    std::thread([] {
        for (;;) {
            handled = 0;
            syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
            if (!handled)
                _exit(1);
        }
    }).detach();
    for (;;)
        pause();
}

// Now and then it is such a signal that stops the second thread, while the first one is that which
// would execute system calls.
TEST(Traced, ASignalThatStopsAThreadIsDeliveredWhenItGoesOn) {
    const pid_t process = fork();
    if (process == 0)
        send_itself_signals();
    ASSERT_GT(process, 0);
    {
        auto program = TracedProgram::of_running(process);
        ASSERT_TRUE(program) << program.failure().message;
        for (int i = 0; i < 300; i++) {
            const Status stopped = program->stop();
            ASSERT_TRUE(stopped) << stopped.failure().message << ", the time " << i;
            program->resume();
        }
    }
    kill(process, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

template <class T> std::string_view bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::atomic<int> order; // of the test to its child, which has a copy

// A copy of this process that does what it is told.
class TracedCopy : public testing::Test {
  protected:
    void SetUp() override {
        order = 0;
        const pid_t test = getpid();
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != test) // it has ended before that
                _exit(1);
            while (order == 0)
                usleep(1000);
            if (order == 1)
                execl("/bin/sleep", "sleep", "100", nullptr);
            _exit(order);
        }
        ASSERT_GT(process_, 0);
    }
    void TearDown() override {
        if (process_ > 0) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
    }
    uint64_t at() const { return reinterpret_cast<uint64_t>(&order); }
    // Waits for it.
    int status_of_end() {
        int status = 0;
        EXPECT_EQ(waitpid(process_, &status, 0), process_);
        process_ = -1;
        return status;
    }

    pid_t process_ = -1;
};

TEST_F(TracedCopy, ExecutesSystemCallsAndGoesOn) {
    auto program = TracedProgram::of_running(process_);
    ASSERT_TRUE(program) << program.failure().message;
    EXPECT_FALSE(program->was_started());
    EXPECT_EQ(program->pid(), process_);
    EXPECT_EQ(program->entry(), auxiliary(getpid(), AT_ENTRY));
    EXPECT_TRUE(program->threads().empty());
    const auto entry = program->read(program->entry(), 64);
    ASSERT_TRUE(entry);
    ASSERT_TRUE(program->stop());
    ASSERT_TRUE(program->stop()); // it is stopped
    EXPECT_EQ(program->threads(), std::vector<pid_t>{process_});
    const auto own = program->call(SYS_getpid, {});
    ASSERT_TRUE(own) << own.failure().message;
    EXPECT_EQ(*own, static_cast<uint64_t>(process_));
    // Each of the six arguments arrives: the kernel maps what they say.
    const auto mapped =
        program->call(SYS_mmap, {0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0});
    ASSERT_TRUE(mapped) << mapped.failure().message;
    EXPECT_TRUE(program->read(*mapped, 8192));
    EXPECT_TRUE(program->call(SYS_munmap, {*mapped, 8192}));
    const auto unmapped = program->read(*mapped, 1);
    ASSERT_FALSE(unmapped);
    EXPECT_EQ(unmapped.failure().message,
              "the program's memory cannot be read: Input/output error");
    const Status written = program->write(*mapped, "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.failure().message,
              "the program's memory cannot be written: Input/output error");
    // The largest error that the kernel returns is 4095; one of them is that of a closed file.
    const auto closed = program->call(SYS_close, {99999});
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.failure().message, "Bad file descriptor");
    // What is below that is a result: a process's memory may be read at any place.
    static constexpr char memory[] = "/proc/self/mem";
    const auto file =
        program->call(SYS_openat, {static_cast<uint64_t>(AT_FDCWD),
                                   reinterpret_cast<uint64_t>(memory), O_RDONLY, 0, 0, 0});
    ASSERT_TRUE(file) << file.failure().message;
    const auto seek = [&](int64_t to) {
        return program->call(SYS_lseek, {*file, static_cast<uint64_t>(to), SEEK_SET, 0, 0, 0});
    };
    const auto lowest = seek(-4096);
    ASSERT_TRUE(lowest) << lowest.failure().message;
    EXPECT_EQ(*lowest, static_cast<uint64_t>(-4096));
    EXPECT_FALSE(seek(-4095));
    EXPECT_FALSE(seek(-1));
    EXPECT_EQ(*program->read(program->entry(), 64), *entry); // as it was
    const int seven = 7;
    EXPECT_EQ(program->read_as<int>(at()), std::optional<int>(0));
    ASSERT_TRUE(program->write(at(), bytes_of(seven)));
    EXPECT_EQ(program->read_as<int>(at()), std::optional<int>(seven));
    EXPECT_EQ(program->read_as<int>(0), std::nullopt);
    program->resume();
    EXPECT_TRUE(program->threads().empty());
    const int status = status_of_end();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == seven) << status;
}

// The mask of signals is that of before, and a signal that comes meanwhile is not lost.
TEST_F(TracedCopy, GetsASignalThatCameMeanwhile) {
    auto program = TracedProgram::of_running(process_);
    ASSERT_TRUE(program);
    ASSERT_TRUE(program->stop());
    kill(process_, SIGUSR2);
    EXPECT_TRUE(program->call(SYS_getpid, {}));
    program->resume();
    const int status = status_of_end();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2) << status;
}

TEST_F(TracedCopy, IsAnotherProgramOnceItHasExecutedOne) {
    auto program = TracedProgram::of_running(process_);
    ASSERT_TRUE(program);
    EXPECT_FALSE(program->has_executed());
    EXPECT_TRUE(program->executes_same(process_));
    EXPECT_TRUE(program->executes_same(getpid())); // of which it is a copy
    const int executes = 1;
    ASSERT_TRUE(program->write(at(), bytes_of(executes)));
    EXPECT_TRUE(becomes([&] { return program->has_executed(); }));
    EXPECT_FALSE(program->executes_same(process_));
    EXPECT_TRUE(program->executes_same(getpid()));
    kill(process_, SIGKILL);
    ASSERT_EQ(waitpid(process_, nullptr, 0), process_);
    EXPECT_FALSE(program->executes_same(process_));
    EXPECT_FALSE(program->has_executed()); // it has no program any more
    process_ = -1;
}

// With the object, the process goes on.
TEST_F(TracedCopy, GoesOnWithoutItsTracer) {
    {
        auto program = TracedProgram::of_running(process_);
        ASSERT_TRUE(program);
        ASSERT_TRUE(program->stop());
        const TracedProgram moved(std::move(*program));
        EXPECT_EQ(moved.threads(), std::vector<pid_t>{process_});
        EXPECT_TRUE(program->threads().empty());
    }
    auto again = TracedProgram::of_running(process_);
    ASSERT_TRUE(again);
    const int three = 3;
    ASSERT_TRUE(again->write(at(), bytes_of(three)));
    const int status = status_of_end();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == three) << status;
}

TEST(Traced, AProcessThatIsGoneHasNoMemory) {
    const pid_t process = fork();
    if (process == 0)
        _exit(0);
    ASSERT_EQ(waitpid(process, nullptr, 0), process);
    const auto program = TracedProgram::of_running(process);
    ASSERT_FALSE(program);
    EXPECT_TRUE(program.failure().message.starts_with("/proc/" + std::to_string(process) +
                                                      "/auxv does not tell the program's entry: "))
        << program.failure().message;
    EXPECT_EQ(program.failure().hint, ""); // no rights are missing
}

TEST(Traced, WhoMayNotStopAProcessIsToldWhy) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root may become somebody else";
    const pid_t test = getpid(), process = fork();
    if (process == 0) {
        if (setgid(12345) != 0 || setuid(12345) != 0)
            _exit(2);
        const auto program = TracedProgram::of_running(test);
        _exit(!program && !program.failure().hint.empty() ? 0 : 1);
    }
    ASSERT_GT(process, 0);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        GTEST_SKIP() << "the user cannot become another one";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A command as djstap starts it: it stops at its entry, with its libraries, and none of its own
// code has run.
class TracedCommand : public testing::Test {
  protected:
    void SetUp() override {
        file_ = memfd_create("inherited", MFD_CLOEXEC);
        ASSERT_GE(file_, 0);
    }
    void TearDown() override { close(file_); }
    Result<Command> command(const std::vector<std::string>& words) const {
        return Command::prepare(words, TracedProgram::options(file_));
    }
    static int status_of(Command& command) {
        std::optional<int> status;
        EXPECT_TRUE(becomes([&] { return status || (status = command.ended()); }));
        return status.value_or(-1);
    }

    int file_ = -1;
};

TEST_F(TracedCommand, StopsAtItsEntryAndRunsOnAlone) {
    testing::internal::CaptureStdout(); // which the command's process has from its beginning
    auto grep = command({"/bin/grep", "SigBlk", "/proc/self/status"});
    ASSERT_TRUE(grep);
    {
        auto program = TracedProgram::run_to_entry(*grep);
        ASSERT_TRUE(program) << program.failure().message;
        EXPECT_TRUE(program->was_started());
        EXPECT_EQ(program->threads(), std::vector<pid_t>{grep->pid()});
        EXPECT_EQ(program->entry(), auxiliary(grep->pid(), AT_ENTRY));
        const auto file = ElfFile::open(
            std::filesystem::read_symlink("/proc/" + std::to_string(grep->pid()) + "/exe"));
        ASSERT_TRUE(file);
        EXPECT_EQ(*program->read(program->entry(), 32), (*file)->bytes_at((*file)->entry(), 32));
        EXPECT_TRUE(std::filesystem::exists("/proc/" + std::to_string(grep->pid()) + "/fd/" +
                                            std::to_string(file_)));
        const auto own = program->call(SYS_getpid, {});
        ASSERT_TRUE(own) << own.failure().message;
        EXPECT_EQ(*own, static_cast<uint64_t>(grep->pid()));
        ASSERT_TRUE(program->stop()); // it is stopped
        const Status detached = program->detach();
        EXPECT_TRUE(detached) << detached.failure().message;
    }
    EXPECT_EQ(status_of(*grep), 0);
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line) && !line.starts_with("SigBlk"))
        ;
    EXPECT_EQ(testing::internal::GetCapturedStdout(), line + "\n");
}

TEST_F(TracedCommand, IsKilledUnlessItIsLetGo) {
    auto sleep = command({"/bin/sleep", "100"});
    ASSERT_TRUE(sleep);
    {
        ASSERT_TRUE(TracedProgram::run_to_entry(*sleep));
    }
    const int status = status_of(*sleep);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

// The dynamic loader ends a program whose libraries it cannot read.
TEST_F(TracedCommand, MayEndBeforeItsProgramBegins) {
    const test::TestFolder folder;
    folder.write("libc.so.6", "no library");
    testing::internal::CaptureStderr();
    auto sleep = [&] {
        const test::Environment path("LD_LIBRARY_PATH", folder.path);
        return command({"/bin/sleep", "100"});
    }();
    ASSERT_TRUE(sleep);
    const auto program = TracedProgram::run_to_entry(*sleep);
    testing::internal::GetCapturedStderr();
    ASSERT_FALSE(program);
    EXPECT_EQ(program.failure().message,
              "the command ended before its program began: it exited with status 127");
}

// They would run while the program is changed.
TEST_F(TracedCommand, HasNoThreadsBeforeItsProgramBegins) {
    const test::TestFolder folder;
    const std::string library = folder.file("threads.so");
    const std::string source = folder.write(
        "threads.c",
        "#include <pthread.h>\n#include <unistd.h>\n"
        "static void *rest(void *none)\n{\n\tfor (;;)\n\t\tpause();\n\treturn none;\n}\n"
        "__attribute__((constructor)) static void begin(void)\n{\n\tpthread_t thread;\n\n"
        "\tpthread_create(&thread, 0, rest, 0);\n}\n");
    ASSERT_TRUE(test::run_tool({"gcc", "-shared", "-fPIC", "-pthread", "-o", library, source}));
    auto sleep = [&] {
        const test::Environment preload("LD_PRELOAD", library);
        return command({"/bin/sleep", "100"});
    }();
    ASSERT_TRUE(sleep);
    const auto program = TracedProgram::run_to_entry(*sleep);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.failure().message, "a library has started threads before the program began");
    const int status = status_of(*sleep);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST(Traced, WhatTheKernelRefusesIsExplained) {
    const std::string rights = "only its user can do that, with all of its rights";
    EXPECT_EQ(why_not_stopped("", ""), rights);
    EXPECT_EQ(why_not_stopped("0", "0\n"), rights);
    EXPECT_EQ(why_not_stopped("17", "1\n"), "another process traces it");
    for (const std::string tracer : {"", "0"})
        EXPECT_EQ(why_not_stopped(tracer, "1\n"),
                  "kernel.yama.ptrace_scope is 1: start the program with -c, or as root, without "
                  "--runtime=process, use uprobes");
}

} // namespace
} // namespace djstap::injection
