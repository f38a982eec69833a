// SPDX-License-Identifier: GPL-2.0-or-later
// Walks over the stack of a program: which callers they find, where they end, what they remember of
// its files, and what is said of stacks that end too early.
#include "include/words.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "made_up_frames.h"
#include "user_walk_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

namespace {

using djstap::test::code_at;
using djstap::test::MadeUp;
using namespace std::string_literals;

constexpr u64 base_of_program = 0x550000000000, base_of_library = 0x7f0000000000;
constexpr u64 program_code = base_of_program + code_at, library_code = base_of_library + code_at;
constexpr u64 anonymous = 0x7f1000000000; // code of no file
constexpr u32 place_of_program = 5, place_of_library = 6, place_of_anonymous = 7;

// The program's functions take one word more from the stack than the return address, those of the
// library none.
class UserWalk : public testing::Test {
  protected:
    using Stack = std::vector<u64>;

    void SetUp() override {
        test_walk_has_map = test_walk_has_memory = true;
        test_walk_of_kernel = test_walk_other_tables = false;
        test_walk_replaced_at = test_walk_original = 0;
        test_walk_fails = "";
        use(program_, 0);
        use(library_, 1);
        test_walk_mappings[0] = {program_code, program_code + 0x1000, base_of_program, 0,
                                 place_of_program};
        test_walk_mappings[1] = {library_code, library_code + 0x1000, base_of_library, 1,
                                 place_of_library};
        test_walk_mappings[2] = {anonymous, anonymous + 0x1000, 0, TEST_WALK_NO_IMAGE,
                                 place_of_anonymous};
        test_walk_entered = {program_code + 0x10, at(0), false};
        for (u64& word : test_walk_stack)
            word = 0;
        test_walk_stack[1] = library_code + 0x50;
        test_walk_stack[2] = program_code + 0x20;
        djs_script.user_stacks = 1;
        djs_script.max_backtrace = 20;
        ctx_.work = reinterpret_cast<char*>(work_.data());
        ASSERT_EQ(test_walk_init(), 0);
        test_walk_log[0] = 0;
        test_walk_finds = test_walk_due = 0;
        incomplete_ = test_walk_incomplete();
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_walk_exit();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }
    static void use(MadeUp& file, u32 image) {
        ASSERT_EQ(file.find(code_at), DJS_UNWIND_OK);
        test_walk_images[image] = file.image();
    }
    static u64 at(u32 word) { return reinterpret_cast<u64>(test_walk_stack + word); }
    static u64 returns(u64 address, u32 place) { return djs_word(address, place, true); }
    Stack taken(test_walk_registers* interrupted = nullptr) {
        u64 stack[32]{};
        test_walk_take(&ctx_, interrupted, stack);
        const Stack all(stack + 1, stack + 1 + stack[0]);
        // The same by the function that may write to its own memory, and nothing behind it.
        std::vector<u64> other(33, 99);
        test_walk_trace(&ctx_, interrupted, other.data());
        EXPECT_EQ(other[0], stack[0]);
        EXPECT_EQ(Stack(other.begin() + 1, other.begin() + 1 + static_cast<s64>(stack[0])), all);
        EXPECT_EQ(other[1 + stack[0]], 99U);
        return all;
    }
    // How many of the walks since the last time were not complete.
    u64 incomplete() {
        const u64 before = incomplete_;
        incomplete_ = test_walk_incomplete();
        return incomplete_ - before;
    }

    djs_ctx ctx_{};
    std::vector<u64> work_ = std::vector<u64>(2560 / 8);
    MadeUp program_{"\x0e\x10"}, library_{""};
    const u64 first_ = djs_word(program_code + 0x10, place_of_program, false);
    const Stack whole_ = {first_, returns(library_code + 0x50, place_of_library),
                          returns(program_code + 0x20, place_of_program)};

  private:
    u64 incomplete_ = 0;
};

TEST_F(UserWalk, FindsAllCallers) {
    EXPECT_EQ(taken(), whole_);
    EXPECT_EQ(incomplete(), 0U);
    EXPECT_EQ(test_walk_due, 0U);
}

// A stack is walked often: the rules of an address are looked for once.
TEST_F(UserWalk, RemembersRules) {
    u64 stack[32];
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(test_walk_finds, 3U);
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(test_walk_finds, 3U);
    test_walk_entered.ip++;
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(test_walk_finds, 4U);
    test_walk_mappings[0].image = 1; // the same address of another file
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(test_walk_finds, 5U);
    EXPECT_EQ(stack[0], 1U); // which has other rules: the word there is no return address
    test_walk_exit();
    ASSERT_EQ(test_walk_init(), 0);
    test_walk_mappings[0].image = 0;
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(test_walk_finds, 8U);
}

TEST_F(UserWalk, BeginsWhereTheProgramWasInterrupted) {
    test_walk_registers here = {library_code + 0xff, at(2), false};
    EXPECT_EQ(taken(&here), (Stack{djs_word(library_code + 0xff, place_of_library, false),
                                   returns(program_code + 0x20, place_of_program)}));
    EXPECT_EQ(incomplete(), 0U);
    // A return address may be that behind the last instruction of a function, not of the next one.
    test_walk_stack[1] = library_code + 0x100;
    EXPECT_EQ(taken()[1], returns(library_code + 0x100, place_of_library));
    EXPECT_EQ(taken().size(), 3U);
    EXPECT_EQ(incomplete(), 0U);
    here.ip = library_code + 0x100;
    EXPECT_EQ(taken(&here), (Stack{djs_word(here.ip, place_of_library, false)}));
    EXPECT_EQ(incomplete(), 2U);
}

// What one frame is mapped in is kept for the next one, as long as that is there, too.
TEST_F(UserWalk, FindsTheMappingOfEachFrame) {
    auto& neighbour = test_walk_mappings[2];
    const auto called_from = [&](u64 address, u32 place) {
        test_walk_stack[1] = address + 1;
        EXPECT_EQ(taken(), (Stack{first_, returns(address + 1, place)}));
    };
    neighbour.begin = program_code + 0x1000;
    neighbour.end = program_code + 0x2000;
    test_walk_stack[2] = 0;
    called_from(program_code + 0xfff, place_of_program);
    called_from(program_code + 0x1000, place_of_anonymous);
    neighbour.begin = program_code - 0x1000;
    neighbour.end = program_code;
    called_from(program_code - 1, place_of_anonymous);
    called_from(program_code, place_of_program);
}

TEST_F(UserWalk, EndsWithSoMany) {
    for (u32 most = 1; most <= 4; most++) {
        djs_script.max_backtrace = most;
        EXPECT_EQ(taken(), Stack(whole_.begin(), whole_.begin() + std::min(most, 3U)));
        EXPECT_EQ(incomplete(), 0U);
    }
}

TEST_F(UserWalk, WritesToItsOwnMemory) {
    test_walk_trace(&ctx_, nullptr, work_.data());
    ASSERT_EQ(work_[0], 3U);
    EXPECT_EQ(Stack(work_.begin() + 1, work_.begin() + 4), whole_);
}

TEST_F(UserWalk, IsOfTasksThatHaveAProgramOfThisWordSize) {
    test_walk_registers interrupted = test_walk_entered;
    interrupted.is_compat = true;
    EXPECT_EQ(taken(&interrupted), Stack{});
    EXPECT_EQ(taken(), whole_);
    test_walk_entered.is_compat = true;
    EXPECT_EQ(taken(), Stack{});
    test_walk_entered.is_compat = false;
    test_walk_has_memory = false;
    EXPECT_EQ(taken(), Stack{});
    test_walk_has_memory = test_walk_of_kernel = true;
    EXPECT_EQ(taken(), Stack{});
    EXPECT_EQ(incomplete(), 0U);
    EXPECT_EQ(test_walk_due, 0U);
}

// ---- walks that end too early -------------------------------------------------------------------

TEST_F(UserWalk, EndsWhereNothingIsKnown) {
    test_walk_registers here = test_walk_entered;
    test_walk_stack[2] = anonymous + 0x30;
    EXPECT_EQ(taken(),
              (Stack{whole_[0], whole_[1], returns(anonymous + 0x30, place_of_anonymous)}));
    EXPECT_EQ(incomplete(), 2U);
    EXPECT_EQ(test_walk_due, 0U); // it is in a system call
    EXPECT_EQ(taken(&here).size(), 3U);
    EXPECT_EQ(test_walk_due, 2U);
    ctx_.level = 1;
    EXPECT_EQ(taken(&here).size(), 3U);
    EXPECT_EQ(test_walk_due, 2U);
    ctx_.level = 0;
    EXPECT_EQ(incomplete(), 4U);
    test_walk_stack[2] = 0x1000; // nothing is mapped there
    EXPECT_EQ(taken(), (Stack{whole_[0], whole_[1], returns(0x1000, 0)}));
    test_walk_stack[2] = u64{1} << DJS_WORD_ADDRESS_BITS; // no address of a program
    EXPECT_EQ(taken(), (Stack{whole_[0], whole_[1]}));
    test_walk_stack[2]--;
    EXPECT_EQ(taken().size(), 3U);
    EXPECT_EQ(incomplete(), 6U);
    test_walk_has_map = false;
    EXPECT_EQ(taken(), (Stack{program_code + 0x10}));
    EXPECT_EQ(incomplete(), 2U);
}

// Whatever was found before in the same memory.
TEST_F(UserWalk, EndsWhereAFileHasNoRules) {
    EXPECT_EQ(taken(), whole_);
    test_walk_stack[1] = library_code + 0x201;
    EXPECT_EQ(taken(), (Stack{whole_[0], returns(library_code + 0x201, place_of_library)}));
    EXPECT_EQ(incomplete(), 2U);
    EXPECT_EQ(taken().size(), 2U); // that is not remembered as if there were some
    test_walk_stack[1] = library_code + 0x70;
    test_walk_images[1] = {};
    test_walk_finds = 0;
    EXPECT_EQ(taken().size(), 2U);
    EXPECT_EQ(test_walk_finds, 0U);
    EXPECT_EQ(incomplete(), 4U);
}

TEST_F(UserWalk, EndsWhereTheStackCannotBeRead) {
    test_walk_registers here = {program_code + 0x10, at(TEST_WALK_WORDS - 2), false};
    test_walk_stack[TEST_WALK_WORDS - 1] = program_code + 0x20;
    EXPECT_EQ(taken(&here), (Stack{first_, returns(program_code + 0x20, place_of_program)}));
    EXPECT_EQ(incomplete(), 2U);
    EXPECT_EQ(test_walk_due, 0U); // to know more of what it maps does not help
    // An NMI, while the kernel switches to the memory of another task.
    test_walk_other_tables = true;
    EXPECT_EQ(taken(), (Stack{program_code + 0x10}));
    EXPECT_EQ(incomplete(), 2U);
}

// ---- other rules --------------------------------------------------------------------------------

// The frame's address is in memory, 16 bytes above the stack pointer.
TEST_F(UserWalk, RemembersRulesOfFramesWhoseAddressIsInMemory) {
    MadeUp file("\x0f\x03\x77\x10\x06"s);
    use(file, 0);
    test_walk_stack[2] = at(5);
    test_walk_stack[4] = program_code + 0x40;
    test_walk_stack[7] = at(10);
    test_walk_stack[9] = library_code + 0x30;
    const Stack expected = {first_, returns(program_code + 0x40, place_of_program),
                            returns(library_code + 0x30, place_of_library)};
    u64 stack[32];
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(Stack(stack + 1, stack + 1 + stack[0]), expected);
    EXPECT_EQ(test_walk_finds, 3U);
    EXPECT_EQ(taken(), expected);
    EXPECT_EQ(test_walk_finds, 3U);
    EXPECT_EQ(incomplete(), 0U);
}

// Rules that have no shorter form are looked for each time.
TEST_F(UserWalk, EvaluatesExpressions) {
    MadeUp file("\x0f\x02\x77\x10"s); // the stack pointer + 16
    use(file, 0);
    EXPECT_EQ(taken(), whole_);
    EXPECT_EQ(test_walk_finds, 5U); // of the library's once
    EXPECT_EQ(incomplete(), 0U);
}

TEST_F(UserWalk, FindsReturnAddressesThatTheKernelHasReplaced) {
    for (const u64 kernels : {u64{0x7ffff000}, anonymous + 0x10, u64{0xffffffff81000000}}) {
        test_walk_stack[1] = kernels;
        test_walk_replaced_at = at(1);
        test_walk_original = library_code + 0x50;
        EXPECT_EQ(taken(), whole_);
        EXPECT_EQ(incomplete(), 0U);
        test_walk_replaced_at = at(2); // another one
        EXPECT_NE(taken(), whole_);
        EXPECT_EQ(incomplete(), 2U);
    }
    // One that leads somewhere is the program's own.
    test_walk_stack[1] = library_code + 0x50;
    test_walk_replaced_at = at(1);
    test_walk_original = library_code + 0x60;
    EXPECT_EQ(taken(), whole_);
}

// ---- words --------------------------------------------------------------------------------------

TEST_F(UserWalk, MakesWordsOfAddresses) {
    u64 stack[32];
    test_walk_take(&ctx_, nullptr, stack); // the task is known since then
    const auto word = [&](u64 address, bool is_return = false) {
        return test_walk_word(&ctx_, address, is_return);
    };
    EXPECT_EQ(word(program_code), djs_word(program_code, place_of_program, false));
    EXPECT_EQ(word(program_code + 0x1000), program_code + 0x1000);
    EXPECT_EQ(word(program_code, true), returns(program_code, 0)); // of what is before it
    EXPECT_EQ(word(program_code + 0x1000, true), returns(program_code + 0x1000, place_of_program));
    EXPECT_EQ(word(0xffffffff81000000), 0xffffffff81000000);
    EXPECT_EQ(word(0xffffffff81000000, true), 0xffffffff81000000);
    // A number that looks like a word is the address in it.
    EXPECT_EQ(word(djs_word(program_code, 9, true)), program_code);
    EXPECT_EQ(word(u64{1} << DJS_WORD_ADDRESS_BITS), 0U);
    test_walk_has_map = false;
    EXPECT_EQ(word(program_code), program_code);
    test_walk_has_map = true;
    test_walk_has_memory = false;
    test_walk_take(&ctx_, nullptr, stack);
    EXPECT_EQ(word(program_code), program_code);
    test_walk_has_memory = true;
    test_walk_take(&ctx_, nullptr, stack);
    test_walk_exit();
    EXPECT_EQ(word(program_code), program_code); // no script asks for stacks
    ASSERT_EQ(test_walk_init(), 0);
}

TEST_F(UserWalk, KnowsFilesOfWords) {
    EXPECT_STREQ(test_walk_path(djs_word(program_code, place_of_program, true)), "/bin/zero");
    EXPECT_STREQ(test_walk_path(djs_word(library_code, place_of_library, false)), "/bin/one");
    EXPECT_EQ(test_walk_path(program_code), nullptr);
    EXPECT_EQ(test_walk_path(djs_word(program_code, 9, false)), nullptr);
}

// ---- begin and end ------------------------------------------------------------------------------

TEST_F(UserWalk, BeginsInOrderAndEndsInReverse) {
    const std::string ended = "-prepare -spaces -places -images ";
    EXPECT_TRUE(test_walk_names_symbols());
    test_walk_exit();
    EXPECT_EQ(taken_log(test_walk_log), ended);
    EXPECT_FALSE(test_walk_names_symbols());
    EXPECT_EQ(guarded_count(), 0U);
    const auto begun = [&](int error) {
        EXPECT_EQ(test_walk_init(), error);
        EXPECT_EQ(test_walk_names_symbols(), error == 0);
        EXPECT_EQ(guarded_count(), error ? 0U : 2U);
        return taken_log(test_walk_log);
    };
    for (const long allocations : {0L, 1L}) {
        test_allocations_left = allocations;
        EXPECT_EQ(begun(-ENOMEM), ended);
    }
    test_allocations_left = LONG_MAX;
    test_walk_fails = "images";
    EXPECT_EQ(begun(-EINVAL), "images " + ended);
    test_walk_fails = "places";
    EXPECT_EQ(begun(-EINVAL), "images places " + ended);
    test_walk_fails = "prepare";
    EXPECT_EQ(begun(-EINVAL), "images places kernel prepare " + ended);
    test_walk_fails = "";
    djs_script.user_stacks = 0; // nobody asks for them
    EXPECT_EQ(test_walk_init(), 0);
    test_walk_exit();
    EXPECT_EQ(taken_log(test_walk_log), "");
    EXPECT_EQ(guarded_count(), 0U);
    djs_script.user_stacks = 1;
    EXPECT_EQ(begun(0), "images places kernel prepare ");
}

} // namespace
