// SPDX-License-Identifier: GPL-2.0-or-later
// Which thread executes system calls for its tracer, and what it does afterwards.
#include "made_program.h"

#include <linux/rseq.h>
#include <sys/syscall.h>

namespace djstap::injection {
namespace {

class Visited : public MadeProgram {
  protected:
    // Has the program spin with this stack pointer.
    void spin_with_stack_at(uint64_t stack_pointer) {
        ASSERT_TRUE(program().stop());
        user_regs_struct all = registers();
        all.rip = at("spin");
        all.rsp = stack_pointer;
        all.orig_rax = UINT64_MAX;
        ASSERT_EQ(ptrace(PTRACE_SETREGS, process_, nullptr, &all), 0);
    }
    char state() const {
        const auto stat = read_file("/proc/" + std::to_string(process_) + "/stat");
        return stat ? (*stat)[stat->rfind(')') + 2] : '?';
    }
    template <class T> void write(uint64_t address, const T& value) {
        ASSERT_TRUE(
            program().write(address, {reinterpret_cast<const char*>(&value), sizeof value}));
    }
};

// The way back needs 17 words, below the red zone of 128 bytes.
TEST_F(Visited, ACallNeedsRoomOnTheStack) {
    const auto map = MemoryMap::of(process_);
    ASSERT_TRUE(map);
    const Range data = map->at(order_at)->range, text = map->at(at("f"))->range;
    ASSERT_TRUE(map->is_free({data.begin - 4096, data.begin}));
    for (const uint64_t none :
         {uint64_t{0x1000}, text.end, data.end + 8, data.begin + 128 + 17 * 8 - 8}) {
        spin_with_stack_at(none);
        program().resume();
        const Status stopped = program().stop();
        ASSERT_FALSE(stopped) << none;
        EXPECT_EQ(stopped.failure().message, "no thread of the program has room on its stack");
        EXPECT_TRUE(program().threads().empty());
        // It goes on, and another tracer may stop it.
        ASSERT_EQ(ptrace(PTRACE_SEIZE, process_, nullptr, nullptr), 0);
        ASSERT_EQ(ptrace(PTRACE_INTERRUPT, process_, nullptr, nullptr), 0);
        ASSERT_EQ(waitpid(process_, nullptr, 0), process_);
        user_regs_struct all = registers();
        EXPECT_EQ(all.rip, at("spin"));
        all.rsp = data.end - 64;
        ASSERT_EQ(ptrace(PTRACE_SETREGS, process_, nullptr, &all), 0);
        ASSERT_EQ(ptrace(PTRACE_DETACH, process_, nullptr, nullptr), 0);
    }
    for (const uint64_t enough : {data.end, data.begin + 128 + 17 * 8}) {
        spin_with_stack_at(enough);
        const std::string before = memory_of(program(), data.begin, data.end - data.begin);
        program().resume();
        const Status stopped = program().stop();
        ASSERT_TRUE(stopped) << stopped.failure().message;
        const auto own = program().call(SYS_getpid, {});
        ASSERT_TRUE(own);
        EXPECT_EQ(*own, static_cast<uint64_t>(process_));
        EXPECT_EQ(registers().rsp, enough);
        EXPECT_EQ(registers().rip, at("spin"));
        program().resume();
        EXPECT_EQ(memory_of(program(), data.begin, data.end - data.begin), before);
    }
}

// The program's entry is as it was, also after it could not be stopped.
TEST_F(Visited, TheEntryIsRestored) {
    const std::string before = bytes_at("_start", 48);
    ASSERT_TRUE(program().stop());
    ASSERT_TRUE(program().call(SYS_getpid, {}));
    EXPECT_EQ(bytes_at("_start", 48), before);
    // What a tracer that was killed has left there is mended.
    ASSERT_TRUE(program().write(at("_start"), arch::visit_code()));
    ASSERT_TRUE(program().stop());
    EXPECT_EQ(bytes_at("_start", 48), before);
    // But not other code.
    ASSERT_TRUE(program().write(at("_start"), "\xcc"));
    ASSERT_TRUE(program().stop());
    EXPECT_EQ(bytes_at("_start", 1), "\xcc");
    program().resume();
}

// 4095 is the largest number of an error: what is below is an address, or another result.
TEST_F(Visited, TellsErrorsFromResults) {
    ASSERT_TRUE(program().stop());
    const auto none = program().call(SYS_close, {9999});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.failure().message, "Bad file descriptor");
    const auto unknown = program().call(99999, {});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.failure().message, "Function not implemented");
    EXPECT_EQ(*program().call(SYS_getppid, {}), static_cast<uint64_t>(getpid()));
    program().resume();
}

// SIGSTOP cannot be blocked: the process stops when it is let go.
TEST_F(Visited, StopsAfterwardsIfItIsToldToMeanwhile) {
    ASSERT_TRUE(program().stop());
    kill(process_, SIGSTOP);
    ASSERT_TRUE(program().call(SYS_getpid, {}));
    program().resume();
    EXPECT_TRUE(becomes([&] { return state() == 'T'; }));
    kill(process_, SIGCONT);
    EXPECT_TRUE(becomes([&] { return state() == 'S'; }));
    // What has come later counts.
    ASSERT_TRUE(program().stop());
    kill(process_, SIGSTOP);
    ASSERT_TRUE(program().call(SYS_getpid, {}));
    kill(process_, SIGCONT);
    program().resume();
    EXPECT_TRUE(becomes([&] { return state() == 'S'; }));
    ASSERT_TRUE(program().stop());
    program().resume();
}

// A thread in a restartable sequence goes on where that is aborted. The kernel knows where it is
// registered: rseq(2).
TEST_F(Visited, LeavesARestartableSequence) {
    constexpr uint64_t registered_at = order_at + 0x100, sequence_at = order_at + 0x200;
    constexpr uint32_t signature = 0x53053053;
    write(registered_at, std::array<uint32_t, 8>{UINT32_MAX, UINT32_MAX});
    ASSERT_TRUE(program().stop());
    const auto done = program().call(SYS_rseq, {registered_at, 32, 0, signature});
    if (!done)
        GTEST_SKIP() << "this kernel has no such sequences: " << done.failure().message;
    const uint64_t begin = at("f"), bytes = 7, aborted = at("spin");
    rseq_cs sequence{};
    sequence.start_ip = begin;
    sequence.post_commit_offset = bytes;
    sequence.abort_ip = aborted;
    write(sequence_at, sequence);
    const auto goes_on_at = [&](uint64_t from, uint64_t where) {
        stop_at(from);
        write(registered_at + offsetof(struct rseq, rseq_cs), where);
        EXPECT_TRUE(program().stop());
        return registers().rip;
    };
    EXPECT_EQ(goes_on_at(begin, sequence_at), aborted);
    EXPECT_EQ(goes_on_at(begin + bytes - 1, sequence_at), aborted);
    EXPECT_EQ(goes_on_at(begin + bytes, sequence_at), begin + bytes);
    EXPECT_EQ(goes_on_at(begin - 1, sequence_at), begin - 1);
    EXPECT_EQ(goes_on_at(begin, 0), begin);
    EXPECT_EQ(goes_on_at(begin, 8), begin); // nothing is mapped there
    stop_at(at("spin"));
    write(registered_at + offsetof(struct rseq, rseq_cs), uint64_t{0});
    program().resume();
}

} // namespace
} // namespace djstap::injection
