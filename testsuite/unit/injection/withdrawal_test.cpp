// SPDX-License-Identifier: GPL-2.0-or-later
// How a program, and what it has created, becomes what it was.
#include "made_program.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

namespace djstap::injection {
namespace {

class Withdrawn : public MadeProgram {
  protected:
    bool is_as_before() {
        return bytes_at("f", 16) == bytes_in_file("f", 16) &&
               bytes_at("g", 16) == bytes_in_file("g", 16) &&
               bytes_at("h", 16) == bytes_in_file("h", 16) &&
               bytes_at("k", 16) == bytes_in_file("k", 16);
    }
    // Has the program create a process.
    void create_heir() {
        const int32_t yes = 1;
        ASSERT_TRUE(program().write(order_at, {reinterpret_cast<const char*>(&yes), sizeof yes}));
        ASSERT_TRUE(becomes([&] { return program().read_as<int32_t>(heir_at).value_or(0) > 0; }));
        heir_ = *program().read_as<int32_t>(heir_at);
        auto heir = TracedProgram::of_running(heir_);
        ASSERT_TRUE(heir);
        heir_program_.emplace(std::move(*heir));
    }
    std::optional<TracedProgram> heir_program_;
    void TearDown() override {
        heir_program_.reset();
        MadeProgram::TearDown();
    }
};

TEST_F(Withdrawn, LeavesNothing) {
    place();
    EXPECT_FALSE(is_as_before());
    ASSERT_TRUE(has_arena(process_));
    // Functions leave return addresses of stubs in gaps of their frames.
    ASSERT_TRUE(program().stop());
    put_on_stack({told.files[0].begin, told.files[0].begin + 1, arena_.code().front().begin});
    program().resume();
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_TRUE(is_as_before());
    EXPECT_EQ(mappings_of_process(process_), before_);
    EXPECT_TRUE(program().threads().empty());
    ASSERT_TRUE(program().stop());
    EXPECT_EQ(registers().gs_base, 0u);
    program().resume();
    // Once more, there is nothing.
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(mappings_of_process(process_), before_);
    EXPECT_EQ(injection_->withdraw_from_heirs(), std::vector<pid_t>());
}

TEST_F(Withdrawn, NothingIsDoneForAProcessThatIsGone) {
    place();
    kill(process_, SIGKILL);
    ASSERT_EQ(waitpid(process_, nullptr, 0), process_);
    process_ = -1;
    EXPECT_TRUE(injection_->withdraw());
}

// A signal may have interrupted a handler, or code of a stub.
TEST_F(Withdrawn, WhatASignalHasInterruptedStaysMapped) {
    place();
    const Arena::Part code = arena_.code().front();
    const uint64_t stubs = told.files[0].begin;
    const uint64_t end = stubs + room_for_stubs(injection_->images().front());
    for (const uint64_t interrupted : {code.begin, stubs, end - 1}) {
        ASSERT_TRUE(program().stop());
        put_signal_frame(0, interrupted);
        program().resume();
        EXPECT_TRUE(injection_->withdraw());
        EXPECT_TRUE(is_as_before());
        EXPECT_TRUE(has_arena(process_));
        const auto map = MemoryMap::of(process_);
        EXPECT_NE(map->at(stubs), nullptr);
        EXPECT_TRUE(program().threads().empty());
    }
    ASSERT_TRUE(program().stop());
    put_signal_frame(0, end); // behind them
    program().resume();
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(mappings_of_process(process_), before_);
}

// A thread that waits in a stub: it is made a loop there.
TEST_F(Withdrawn, WhatAThreadExecutesStaysMapped) {
    place();
    const uint64_t stubs = told.files[0].begin;
    ASSERT_TRUE(program().write(stubs, "\xeb\xfe")); // jmp to itself
    stop_at(stubs);
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_TRUE(is_as_before());
    EXPECT_TRUE(has_arena(process_));
    stop_at(at("spin"));
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(mappings_of_process(process_), before_);
    EXPECT_TRUE(stops_at(at("spin"))); // where it goes on
}

// Somebody else's jump may lead to a stub, so that stays.
TEST_F(Withdrawn, WhatOthersHaveWrittenStays) {
    place();
    ASSERT_TRUE(program().write(at("g"), "\xcc"));
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(bytes_at("f", 16), bytes_in_file("f", 16));
    EXPECT_EQ(bytes_at("g")[0], '\xcc');
    EXPECT_TRUE(has_arena(process_));
    ASSERT_TRUE(program().write(at("g"), bytes_in_file("g")));
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(mappings_of_process(process_), before_);
}

// Whoever was to map the memory may have been killed meanwhile.
TEST_F(Withdrawn, ClosesTheArenasFile) {
    place();
    const std::string path =
        "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(arena_->file());
    ASSERT_TRUE(program().stop());
    const uint64_t unused = arena_->heap().begin + arena_->heap().bytes - 4096;
    ASSERT_TRUE(program().write(unused, {path.c_str(), path.size() + 1}));
    const auto opened =
        program().call(SYS_openat, {static_cast<uint64_t>(AT_FDCWD), unused, O_RDWR});
    ASSERT_TRUE(opened) << opened.failure().message;
    program().resume();
    ASSERT_TRUE(arena_->is_open(process_, static_cast<int>(*opened)));
    const std::string input = "/proc/" + std::to_string(process_) + "/fd/0";
    const bool has_input = std::filesystem::exists(input);
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_FALSE(arena_->is_open(process_, static_cast<int>(*opened)));
    EXPECT_EQ(std::filesystem::exists(input), has_input);
}

// A filter might end it because of what djstap has it do. What was patched is restored.
TEST_F(Withdrawn, AConfinedProgramExecutesNoSystemCalls) {
    place();
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const uint64_t unused = arena_->heap().begin + arena_->heap().bytes - 4096;
    const sock_fprog filter{1, reinterpret_cast<sock_filter*>(unused + sizeof(sock_fprog))};
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().write(unused, {reinterpret_cast<const char*>(&filter), sizeof filter}));
    ASSERT_TRUE(program().write(unused + sizeof filter,
                                {reinterpret_cast<const char*>(&allow), sizeof allow}));
    ASSERT_TRUE(program().call(SYS_prctl, {PR_SET_NO_NEW_PRIVS, 1}));
    const auto confined = program().call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0, unused});
    program().resume();
    if (!confined)
        GTEST_SKIP() << "this kernel has no filters: " << confined.failure().message;
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_TRUE(is_as_before());
    EXPECT_TRUE(has_arena(process_));
    EXPECT_TRUE(program().threads().empty());
    // Nor is anything placed in it.
    const Status released = injection_->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.failure().message,
              "a filter of system calls (seccomp) confines the program");
    EXPECT_EQ(released.failure().hint,
              "start it with -c, or as root, without --runtime=process, use uprobes");
    EXPECT_TRUE(program().threads().empty());
}

// Another djstap stops the program for a moment.
TEST_F(Withdrawn, WaitsForAnotherTracer) {
    place();
    int begun[2], ended[2];
    ASSERT_EQ(pipe2(begun, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(ended, O_CLOEXEC), 0);
    const pid_t tracer = fork();
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ended[1]);
        const bool seized = ptrace(PTRACE_SEIZE, process_, nullptr, nullptr) == 0;
        char byte = seized ? '+' : '-';
        (void)!write(begun[1], &byte, 1);
        (void)!read(ended[0], &byte, 1);
        _exit(0);
    }
    ASSERT_GT(tracer, 0);
    char answer = 0;
    ASSERT_EQ(read(begun[0], &answer, 1), 1);
    std::thread timer([&] {
        usleep(20000);
        close(ended[1]);
    });
    const bool withdrawn = injection_->withdraw();
    timer.join();
    EXPECT_EQ(waitpid(tracer, nullptr, 0), tracer);
    for (const int each : {begun[0], begun[1], ended[0]})
        close(each);
    if (answer != '+')
        GTEST_SKIP() << "only root may trace the program of another process";
    EXPECT_TRUE(withdrawn);
    EXPECT_TRUE(is_as_before());
    EXPECT_EQ(mappings_of_process(process_), before_);
}

TEST_F(Withdrawn, HeirsAreFreed) {
    place();
    create_heir();
    EXPECT_TRUE(has_arena(heir_));
    EXPECT_EQ(memory_of(*heir_program_, at("f"), 1), "\xe9");
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_TRUE(has_arena(heir_)); // it is not the program
    EXPECT_EQ(injection_->withdraw_from_heirs(), std::vector<pid_t>());
    EXPECT_FALSE(has_arena(heir_));
    EXPECT_EQ(memory_of(*heir_program_, at("f"), 5), bytes_in_file("f"));
    EXPECT_EQ(mappings_of_process(heir_), before_);
    EXPECT_TRUE(exists(heir_));
    const Status stopped = heir_program_->stop(); // nobody traces it
    EXPECT_TRUE(stopped) << stopped.failure().message;
    heir_program_->resume();
}

// As one that has unmapped what it inherited, and where its parent has mapped the stubs it has
// something else.
TEST_F(Withdrawn, AnHeirKeepsWhatIsItsOwn) {
    place();
    create_heir();
    const uint64_t stubs = told.files[0].begin;
    ASSERT_TRUE(heir_program_->stop());
    ASSERT_TRUE(heir_program_->call(SYS_munmap, {stubs, 4096}));
    ASSERT_TRUE(
        heir_program_->call(SYS_mmap, {stubs, 4096, PROT_READ,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0}));
    heir_program_->resume();
    EXPECT_EQ(injection_->withdraw_from_heirs(), std::vector<pid_t>());
    EXPECT_FALSE(has_arena(heir_));
    const auto map = MemoryMap::of(heir_);
    EXPECT_NE(map->at(stubs), nullptr);
    EXPECT_EQ(memory_of(*heir_program_, at("f"), 5), bytes_in_file("f"));
    // The program itself was not asked.
    EXPECT_TRUE(is_jump("f"));
    EXPECT_TRUE(has_arena(process_));
}

// What does not have the memory as it was mapped is left alone, but told of.
TEST_F(Withdrawn, AnHeirThatKeepsTheJumpsIsTold) {
    place();
    create_heir();
    ASSERT_TRUE(heir_program_->stop());
    ASSERT_TRUE(heir_program_->call(SYS_munmap, {arena_->whole().begin, 4096}));
    heir_program_->resume();
    EXPECT_EQ(injection_->withdraw_from_heirs(), std::vector<pid_t>{heir_});
    EXPECT_EQ(memory_of(*heir_program_, at("f"), 1), "\xe9");
    EXPECT_TRUE(heir_program_->threads().empty());
}

TEST_F(Withdrawn, AnHeirWithoutTheArenaIsNone) {
    place();
    create_heir();
    ASSERT_TRUE(heir_program_->stop());
    ASSERT_TRUE(heir_program_->call(SYS_munmap, {arena_->whole().begin, arena_->whole().bytes}));
    heir_program_->resume();
    EXPECT_EQ(injection_->withdraw_from_heirs(), std::vector<pid_t>());
    EXPECT_EQ(memory_of(*heir_program_, at("f"), 1), "\xe9");
}

} // namespace
} // namespace djstap::injection
