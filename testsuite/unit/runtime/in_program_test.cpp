// SPDX-License-Identifier: GPL-2.0-or-later
// What the runtime inside a program asks of the kernel and of djstap: the program's memory, what
// the loader has mapped, functions about the process.
#include "made_up_program.h"

#include <climits>
#include <functional>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

class ProgramLoader : public MadeUpProgram {
  protected:
    void SetUp() override {
        MadeUpProgram::SetUp();
        open_gate();
        loader_ = {};
        place_ = mmap(nullptr, 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(place_, MAP_FAILED);
        ASSERT_EQ(munmap(place_, 2 * page_bytes), 0);
    }
    void TearDown() override {
        munmap(place_, 2 * page_bytes);
        loader_ = {};
        MadeUpProgram::TearDown();
    }
    // From here on djstap answers when the program waits.
    void answer(std::vector<djs_loader> answers) {
        waits_ = [this, answers = std::move(answers), next = size_t{0}]() mutable {
            ASSERT_LT(next, answers.size()) << "a question more";
            EXPECT_EQ(loader_.asked, loader_.answered + 1);
            results_.push_back(loader_.mapped);
            loader_.unmap = answers[next].unmap;
            loader_.map = answers[next++].map;
            loader_.answered++;
        };
    }
    u64 place() const { return reinterpret_cast<u64>(place_); }
    bool is_mapped() const {
        unsigned char resident;
        return mincore(place_, page_bytes, &resident) == 0;
    }
    static djs_loader mapping(u64 at, u64 bytes) {
        djs_loader answer{};
        answer.map = {at, bytes};
        return answer;
    }
    static djs_loader unmapping(u64 at, u64 bytes) {
        djs_loader answer{};
        answer.unmap = {at, bytes};
        return answer;
    }

    djs_loader& loader_ = *djs_injected_loader();
    void* place_ = MAP_FAILED;
    std::vector<s64> results_; // of what was mapped, as djstap sees them
};

TEST_F(ProgramLoader, AsksUntilNothingIsToBeMapped) {
    answer({mapping(place(), 2 * page_bytes), mapping(place(), page_bytes), djs_loader{}});
    u64 registers[21]{};
    djs_injected_hit(registers, DJS_AT_LOADER);
    EXPECT_EQ(loader_.asked, 3U);
    // What is mapped already stays as it is.
    EXPECT_EQ(results_, (std::vector<s64>{0, static_cast<s64>(place()), -EEXIST}));
    EXPECT_TRUE(is_mapped());
    EXPECT_EQ(*static_cast<const volatile char*>(place_), 0); // is readable

    answer({unmapping(place(), 2 * page_bytes), djs_loader{}});
    djs_loader_changed();
    EXPECT_FALSE(is_mapped());
    EXPECT_EQ(loader_.asked, 5U);
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_WAITS});
}

TEST_F(ProgramLoader, UnmapsBeforeItMaps) {
    ASSERT_EQ(mmap(place_, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              place_);
    djs_loader both = mapping(place(), page_bytes);
    both.unmap = both.map;
    answer({both, djs_loader{}});
    djs_loader_changed();
    EXPECT_EQ(results_, (std::vector<s64>{0, static_cast<s64>(place())}));
    EXPECT_EQ(*static_cast<const volatile char*>(place_), 0);
}

TEST_F(ProgramLoader, GoesOnWithoutAnAnswerAndDoesNotAskAgain) {
    const u64 begin = in_program_time;
    djs_loader_changed();
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_IS_DEAF});
    EXPECT_EQ(loader_.asked, 1U);
    EXPECT_GE(in_program_time - begin, 10'000'000'000U);
    EXPECT_LT(in_program_time - begin, 11'000'000'000U);
    loader_.map = {place(), page_bytes}; // comes too late
    loader_.answered = 1;
    djs_loader_changed();
    EXPECT_EQ(loader_.asked, 1U);
    EXPECT_FALSE(is_mapped());
}

TEST_F(ProgramLoader, WaitsLongerForDjstapAtWork) {
    const u64 begin = in_program_time;
    answer({djs_loader{}});
    waits_ = [this, answers = waits_, begin] {
        loader_.state = DJS_LOADER_IS_ANSWERED;
        if (in_program_time - begin < 19'000'000'000)
            return;
        answers();
        loader_.state = DJS_LOADER_WAITS;
    };
    djs_loader_changed();
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_WAITS});
    EXPECT_EQ(loader_.asked, 1U);
    // It may have been killed, though.
    const u64 again = in_program_time;
    waits_ = [this] { loader_.state = DJS_LOADER_IS_ANSWERED; };
    djs_loader_changed();
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_IS_DEAF});
    EXPECT_GE(in_program_time - again, 20'000'000'000U);
    EXPECT_LT(in_program_time - again, 21'000'000'000U);
}

TEST_F(ProgramLoader, DoesNotWaitForAScriptThatHasEnded) {
    const u64 begin = in_program_time;
    djs_gate |= DJS_HANDLER_CHECKS_STATE;
    djs_loader_changed();
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_IS_OVER});
    EXPECT_EQ(in_program_time, begin);
    djs_loader_changed();
    EXPECT_EQ(loader_.asked, 1U);
    // djstap is still at work when it ends: that is waited for.
    loader_ = {};
    loader_.state = DJS_LOADER_IS_ANSWERED;
    answer({djs_loader{}});
    djs_loader_changed();
    EXPECT_EQ(loader_.answered, 1U);
    EXPECT_EQ(loader_.state, u32{DJS_LOADER_IS_ANSWERED});
}

class ProgramMemory : public MadeUpProgram {};

TEST_F(ProgramMemory, IsReadAndWrittenWhereItIs) {
    char* const end = heap_ + heap_bytes; // no memory from here on
    std::memcpy(end - 8, "abcdefgh", 8);
    char text[9]{};
    EXPECT_EQ(in_program_read_memory(text, reinterpret_cast<u64>(end - 8), 8), 0);
    EXPECT_STREQ(text, "abcdefgh");
    EXPECT_EQ(in_program_read_memory(text, reinterpret_cast<u64>(end - 7), 8), -EFAULT);
    EXPECT_EQ(in_program_read_memory(text, reinterpret_cast<u64>(end), 1), -EFAULT);
    EXPECT_EQ(in_program_read_memory(text, 0, 8), -EFAULT);
    EXPECT_EQ(in_program_write_memory(reinterpret_cast<u64>(end - 8), "xy", 2), 0);
    EXPECT_EQ(std::string(end - 8, 8), "xycdefgh");
    EXPECT_EQ(in_program_write_memory(reinterpret_cast<u64>(end - 1), "xy", 2), -EFAULT);
    static const char constant[] = "constant";
    EXPECT_EQ(in_program_write_memory(reinterpret_cast<u64>(constant), "x", 1), -EFAULT);
}

class ProgramFunctions : public MadeUpProgram {
  protected:
    ProgramFunctions() {
        ctx_.error_text = error_text_;
        ctx_.regs = reinterpret_cast<struct pt_regs*>(registers_);
    }
    std::string error() {
        std::string text = ctx_.error ? ctx_.error : "";
        ctx_.error = nullptr;
        return text;
    }

    char error_text_[256]{}, out_[128]{};
    u64 registers_[21]{}, stack_[60]{};
    djs_ctx ctx_{};
};

TEST_F(ProgramFunctions, AnswerAsTheKernelAndDjstapDo) {
    EXPECT_EQ(in_program_tz_gmtoff(&ctx_), -5400);
    in_program_tz_name(&ctx_, out_);
    EXPECT_STREQ(out_, "XYZ");
    utsname names{};
    ASSERT_EQ(uname(&names), 0);
    in_program_host_name(&ctx_, out_);
    EXPECT_STREQ(out_, names.nodename);
    char before[16]{};
    ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
    ASSERT_EQ(prctl(PR_SET_NAME, "fifteen letters"), 0);
    in_program_execname(&ctx_, out_);
    EXPECT_STREQ(out_, "fifteen letters");
    // Children ask, whose parent this is: that of this process may be outside the PID namespace.
    const auto parent_is = [this](const std::string& expected) {
        in_program_pexecname(&ctx_, out_);
        return out_ == expected;
    };
    const auto is_true_in_child = [](const std::function<bool()>& condition) {
        const pid_t child = fork();
        if (child == 0)
            _exit(condition() ? 0 : 1);
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return status == 0;
    };
    EXPECT_TRUE(is_true_in_child([&] { return parent_is("fifteen letters"); }));
    EXPECT_TRUE(is_true_in_child([&] {
        close(STDIN_FILENO); // as a daemon does
        return parent_is("fifteen letters");
    }));
    in_program_open_fails = 1; // the program has as many files open as it may
    in_program_pexecname(&ctx_, out_);
    in_program_open_fails = 0;
    EXPECT_STREQ(out_, "");
    // A parent may have no name.
    ASSERT_EQ(prctl(PR_SET_NAME, ""), 0);
    EXPECT_TRUE(is_true_in_child([&] { return parent_is(""); }));
    ASSERT_EQ(prctl(PR_SET_NAME, before), 0);
}

TEST_F(ProgramFunctions, TellTheProbedInstruction) {
    EXPECT_EQ(in_program_addr(&ctx_), 0);
    djs_site site{};
    site.segment = 1;
    site.address = 0x1234;
    unsigned long biases[] = {0x10000, 0x7f0000000000};
    djs_injected_places(nullptr, 0, biases);
    ctx_.site = &site;
    EXPECT_EQ(in_program_addr(&ctx_), 0x7f0000001234);
    djs_injected_places(nullptr, 0, nullptr);
}

// As the psABI passes them: rdi, rsi, rdx, rcx, r8, r9, then on the stack above the return address.
TEST_F(ProgramFunctions, FindTheArgumentsOfAFunction) {
    const size_t places[] = {14, 13, 12, 11, 9, 8}; // in the kernel's struct pt_regs
    for (size_t i = 0; i < 6; i++)
        registers_[places[i]] = 101 + i;
    registers_[19] = reinterpret_cast<u64>(stack_); // the stack pointer
    stack_[0] = 0x401234;                           // the return address
    for (size_t i = 1; i < std::size(stack_); i++)
        stack_[i] = 106 + i;
    for (s64 n = 1; n <= 64; n++)
        EXPECT_EQ(in_program_long_arg(&ctx_, n), 100 + n);
    EXPECT_EQ(error(), "");
    for (const s64 n : {s64{0}, s64{-1}, s64{65}, s64{LLONG_MIN}}) {
        EXPECT_EQ(in_program_long_arg(&ctx_, n), 0);
        EXPECT_EQ(error(), "argument " + std::to_string(n) + " is not available here");
    }
    registers_[19] = reinterpret_cast<u64>(heap_ + heap_bytes - 16); // only one fits there
    EXPECT_EQ(in_program_long_arg(&ctx_, 7), 0);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(in_program_long_arg(&ctx_, 8), 0);
    EXPECT_EQ(error(), "argument 8 cannot be read");
    ctx_.returned = 1;
    EXPECT_EQ(in_program_long_arg(&ctx_, 1), 0);
    EXPECT_EQ(error(), "argument 1 is not available here");
    ctx_.returned = 0;
    ctx_.regs = nullptr;
    EXPECT_EQ(in_program_long_arg(&ctx_, 1), 0);
    EXPECT_EQ(error(), "argument 1 is not available here");
}

} // namespace
