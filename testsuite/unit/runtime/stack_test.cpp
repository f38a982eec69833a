// SPDX-License-Identifier: GPL-2.0-or-later
// Which addresses of a walk over the kernel's stack are a script's.
#include "stack_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr unsigned long own_address = TEST_OWN + 0x10, probed_place = 0xffffffff81000100,
                        probed_entry = 0xffffffff810000fc, first_caller = 0xffffffff81000200,
                        second_caller = 0xffffffff81000300;

using Stack = std::vector<u64>;

class WalkOfStack : public testing::Test {
  protected:
    void SetUp() override {
        site_.address = probed_place;
        site_.segment = DJS_NO_INDEX;
        context_.site = &site_;
        context_.work = work_;
        context_.error_text = error_;
        test_probed_function = probed_entry;
        djs_script.max_backtrace = 4;
        djs_script.string_bytes = 200;
    }
    void TearDown() override { djs_script = {}; }

    static void frames(const std::vector<unsigned long>& addresses) {
        std::fill(std::begin(test_frames), std::end(test_frames), 0);
        std::copy(addresses.begin(), addresses.end(), test_frames);
    }
    Stack taken(unsigned long address = 0, bool user = false) {
        u64 stack[160]{};
        const u32 count = test_take_stack(&context_, address, user, stack);
        return {stack + 1, stack + 1 + count};
    }
    Stack taken_at_entry() {
        u64 stack[160]{};
        unsigned long words[] = {first_caller + 1, 0};
        test_take_stack_at_entry(&context_, stack, reinterpret_cast<u64>(words + 1));
        return {stack + 1, stack + 1 + stack[0]};
    }

    djs_ctx context_{};
    djs_site site_{};
    char work_[2560]{}, error_[256]{};
};

// Of a direct call, which returns behind its site.
TEST_F(WalkOfStack, BeginsAtTheFunction) {
    for (const unsigned long distance : {0UL, 5UL}) {
        frames({own_address, own_address, probed_place + distance, first_caller, second_caller});
        EXPECT_EQ(taken(), (Stack{probed_entry, first_caller, second_caller}));
    }
    // What is not behind it is only the first one that is not this module's.
    for (const unsigned long other : {probed_place + 6, probed_place - 1}) {
        frames({own_address, own_address, other, first_caller});
        EXPECT_EQ(taken(), (Stack{other, first_caller}));
    }
}

TEST_F(WalkOfStack, EndsWithSoMany) {
    frames({own_address, probed_place, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(taken(), (Stack{probed_entry, 1, 2, 3}));
    EXPECT_EQ(test_frames_seen, 5U);
    djs_script.max_backtrace = 1;
    EXPECT_EQ(taken(), (Stack{probed_entry}));
    EXPECT_EQ(test_frames_seen, 2U);
    djs_script.max_backtrace = 200;
    for (unsigned long& frame : test_frames)
        frame = first_caller;
    test_frames[0] = own_address;
    test_frames[1] = probed_place;
    EXPECT_EQ(taken().size(), 143U); // as many as a walk has room for
    EXPECT_EQ(test_frames_seen, 144U);
}

// Where a function has a return djprobe: its trampoline, and the direct call that called that.
TEST_F(WalkOfStack, LeavesTrampolinesOut) {
    frames({own_address, probed_place, first_caller, own_address, 77, second_caller, own_address,
            78, 79});
    EXPECT_EQ(taken(), (Stack{probed_entry, first_caller, second_caller, 79}));
    frames({own_address, probed_place, TEST_OWN, 77, TEST_OWN + TEST_OWN_BYTES, TEST_OWN - 1});
    EXPECT_EQ(taken(), (Stack{probed_entry, TEST_OWN + TEST_OWN_BYTES, TEST_OWN - 1}));
    // However many there are.
    for (unsigned long& frame : test_frames)
        frame = own_address;
    test_frames[1] = probed_place;
    EXPECT_EQ(taken(), (Stack{probed_entry}));
    EXPECT_EQ(test_frames_seen, 144U);
}

TEST_F(WalkOfStack, BeginsWhereASampleWas) {
    context_.site = nullptr;
    frames({first_caller, own_address, 77, second_caller, 1, 2, 3});
    EXPECT_EQ(taken(probed_place), (Stack{probed_place, first_caller, second_caller, 1}));
    EXPECT_EQ(taken(probed_place, true), Stack{}); // in a program
    djs_script.max_backtrace = 1;
    EXPECT_EQ(taken(probed_place), (Stack{probed_place}));
    EXPECT_EQ(test_frames_seen, 0U);
    site_.address = 0; // a timer's site
    context_.site = &site_;
    djs_script.max_backtrace = 2;
    EXPECT_EQ(taken(probed_place), (Stack{probed_place, first_caller}));
}

// A handler without registers that has no place, as of a tracepoint.
TEST_F(WalkOfStack, BeginsOutsideThisModule) {
    context_.site = nullptr;
    frames({own_address, own_address, first_caller, second_caller, 1, 2, 3});
    EXPECT_EQ(taken(), (Stack{first_caller, second_caller, 1, 2}));
    frames({own_address, own_address});
    EXPECT_EQ(taken(), Stack{});
}

TEST_F(WalkOfStack, BeginsAtTheAddressInTheRegistersIfNotAtTheProbe) {
    for (const unsigned long found : {second_caller, second_caller - 1}) {
        frames({own_address, first_caller, found, 1, 2, 3, 4, 5});
        EXPECT_EQ(taken(second_caller), (Stack{found, 1, 2, 3})) << found;
    }
    for (const unsigned long other : {second_caller + 1, second_caller - 2}) {
        frames({own_address, first_caller, other, 1, 2, 3});
        EXPECT_EQ(taken(second_caller), (Stack{first_caller, other, 1, 2})) << other;
    }
    // Behind the last one is what a longer stack has left there.
    frames({own_address, first_caller, 1, second_caller});
    EXPECT_EQ(taken(second_caller), (Stack{second_caller}));
    frames({own_address, first_caller, 1});
    EXPECT_EQ(taken(second_caller), (Stack{first_caller, 1}));
}

TEST_F(WalkOfStack, BeginsInATrampoline) {
    frames({first_caller, second_caller, 1, 2, 3});
    EXPECT_EQ(taken_at_entry(), (Stack{probed_entry, first_caller, second_caller, 1}));
    djs_script.max_backtrace = 1;
    EXPECT_EQ(taken_at_entry(), (Stack{probed_entry}));
    EXPECT_EQ(test_frames_seen, 0U);
    context_.site = nullptr;
    djs_script.max_backtrace = 2;
    EXPECT_EQ(taken_at_entry(), (Stack{first_caller + 1, first_caller}));
}

TEST_F(WalkOfStack, IsCopied) {
    const u64 from[] = {2, 11, 22, 33};
    u64 to[] = {9, 9, 9, 9};
    test_copy_stack(to, from);
    EXPECT_EQ(Stack(to, to + 4), (Stack{2, 11, 22, 9}));
}

TEST_F(WalkOfStack, HasAText) {
    const std::vector<u64> addresses = {0xffffffff81000100, 0x1, 0xffffffff81000300};
    u64 stack[4] = {3};
    std::copy(addresses.begin(), addresses.end(), stack + 1);
    for (size_t size = 1; size < 50; size++) {
        djs_script.string_bytes = static_cast<u32>(size);
        std::string expected;
        for (const u64 address : addresses) {
            char word[32];
            snprintf(word, sizeof word, "%s0x%llx", expected.empty() ? "" : " ",
                     static_cast<unsigned long long>(address));
            if (expected.size() + std::string(word).size() >= size)
                break;
            expected += word;
        }
        std::string out(size + 1, '\xa5');
        test_text_of_stack(out.data(), stack);
        EXPECT_STREQ(out.c_str(), expected.c_str()) << size;
        EXPECT_EQ(out.back(), '\xa5');
    }
    frames({own_address, probed_place, first_caller});
    context_.regs = nullptr;
    char out[200];
    djs_script.string_bytes = sizeof out;
    test_backtrace(&context_, out);
    EXPECT_STREQ(out, "0xffffffff810000fc 0xffffffff81000200");
}

TEST_F(WalkOfStack, HasDepths) {
    frames({own_address, probed_place, first_caller});
    context_.regs = nullptr;
    EXPECT_EQ(test_stack_at(&context_, 0), static_cast<s64>(probed_entry));
    EXPECT_EQ(test_stack_at(&context_, 1), static_cast<s64>(first_caller));
    EXPECT_EQ(context_.error, nullptr);
    for (const s64 depth : {s64{2}, s64{-1}}) {
        EXPECT_EQ(test_stack_at(&context_, depth), 0);
        EXPECT_STREQ(
            context_.error,
            ("reached end of stack before unwinding to level " + std::to_string(depth)).c_str());
        context_.error = nullptr;
    }
}

TEST_F(WalkOfStack, TellsWhatIsUsed) {
    EXPECT_EQ(test_stack_size(), 16384);
    const auto here = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
    test_task_stack = here - 8192;
    EXPECT_GE(test_stack_used(), 8192);
    EXPECT_LE(test_stack_used(), 16384);
    for (const unsigned long elsewhere : {here + (1UL << 20), here - (1UL << 20)}) {
        test_task_stack = elsewhere;
        EXPECT_EQ(test_stack_used(), 0);
    }
}

} // namespace
