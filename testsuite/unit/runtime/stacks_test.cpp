// SPDX-License-Identifier: GPL-2.0-or-later
// Which tasks are inside of a function whose return is probed, as their stacks tell.
#include "kernel_for_test.h"
#include "stacks_for_test.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

namespace {

class TaskStacks : public testing::Test {
  protected:
    void SetUp() override {
        sites_[0].mechanism = DJS_MECHANISM_DJPROBE;
        sites_[1].mechanism = sites_[2].mechanism = DJS_MECHANISM_RETURN_DJPROBE;
        djs_script.sites = sites_;
        djs_script.site_count = 2;
        djs_script.trampolines = trampolines_;
        djs_script.trampoline_count = 2;
        test_stacks_begin();
        // Functions of this module, which nobody calls here.
        const u64 own = test_stack_return(TEST_CALLS_DISPATCH);
        trampolines_[1].dispatch = reinterpret_cast<djs_code*>(own + 2);
        djs_script.elsewhere = reinterpret_cast<const void*>(own + 3);
        trampolines_[2].dispatch = reinterpret_cast<djs_code*>(test_stack_other_callee());
        for (auto i : {0, 1})
            test_stacks[i].exists = true;
    }
    void TearDown() override {
        test_stacks_forget_last_found();
        EXPECT_EQ(test_stack_references(), 0U);
        EXPECT_EQ(test_rcu_depth, 0);
        EXPECT_EQ(test_atomic_depth, 0);
        djs_script = {};
    }
    static bool inside() {
        test_stacks_be(0);
        return test_stacks_anybody_inside();
    }
    static bool inside_with(u64 word) {
        test_stacks[1].words[5] = word;
        return inside();
    }
    // It sleeps in a function that was called by a trampoline.
    static void sleeps_inside(u32 number, const char* name) {
        test_stacks[number].exists = true;
        test_stacks[number].name = name;
        test_stacks[number].state = 1;
        test_stacks[number].words[40] = test_stack_return(TEST_CALLS_DISPATCH);
        test_stacks[number].frames[0].address = 0x1234;
        test_stacks[number].frames[1].address = test_stack_return(TEST_CALLS_DISPATCH);
    }

    // What is behind the ends is called by TEST_CALLS_BEHIND and TEST_CALLS_OTHER.
    djs_site sites_[3]{};
    djs_trampoline trampolines_[3]{};
};

TEST_F(TaskStacks, HaveAReturnAddressInATrampoline) {
    EXPECT_FALSE(inside());
    EXPECT_TRUE(inside_with(test_stack_return(TEST_CALLS_DISPATCH)));
    EXPECT_TRUE(inside_with(test_stack_return(TEST_CALLS_SITE)));
    EXPECT_TRUE(inside_with(test_stack_return(TEST_CALLS_ELSEWHERE)));
    EXPECT_FALSE(inside_with(test_stack_return(TEST_CALLS_OTHER)));
    EXPECT_FALSE(inside_with(test_stack_return(TEST_CALLS_BEHIND)));
    EXPECT_FALSE(inside_with(test_stack_return(TEST_CALLS_NOTHING)));
    EXPECT_FALSE(inside_with(test_stack_return(TEST_CALLS_OF_OTHERS)));
    // Without a return probe, its site is not where a trampoline goes on.
    sites_[1].mechanism = DJS_MECHANISM_DJPROBE;
    EXPECT_FALSE(inside_with(test_stack_return(TEST_CALLS_SITE)));
}

TEST_F(TaskStacks, HaveWhatHooksPutThere) {
    EXPECT_FALSE(inside_with(0x1000)); // the kernel has no hooks
    djs_script.rethook = 0x40;
    djs_script.graph_return = 0x50;
    EXPECT_TRUE(inside_with(0x1040)); // 0x1000 above the link-time address
    EXPECT_TRUE(inside_with(0x1050));
    EXPECT_FALSE(inside_with(0x40));
    EXPECT_FALSE(inside_with(0x1060));
}

TEST_F(TaskStacks, AreReadAsAWhole) {
    for (const u32 at : {0, 31, 32, 63}) {
        test_stacks[1].words[at] = test_stack_return(TEST_CALLS_DISPATCH);
        EXPECT_TRUE(inside()) << at;
        test_stacks[1].is_unreadable = true; // its task has exited
        EXPECT_FALSE(inside());
        test_stacks[1].is_unreadable = false;
        test_stacks[1].has_no_stack = true;
        EXPECT_FALSE(inside());
        test_stacks[1].has_no_stack = false;
        test_stacks[1].words[at] = 0;
        EXPECT_FALSE(inside());
    }
    // That of whoever asks is no other's.
    test_stacks[0].words[3] = test_stack_return(TEST_CALLS_DISPATCH);
    EXPECT_FALSE(inside());
}

TEST_F(TaskStacks, OfBlockedTasksAreUnwound) {
    test_stacks[1].words[5] = test_stack_return(TEST_CALLS_DISPATCH); // which may be stale
    auto& task = test_stacks[1];
    EXPECT_TRUE(inside()); // it runs
    task.state = 1;
    EXPECT_FALSE(inside());
    task.on_cpu = true;
    EXPECT_TRUE(inside());
    task.on_cpu = false;
    task.on_rq = true;
    EXPECT_TRUE(inside());
    task.on_rq = false;
    for (const unsigned state : {0x80, 0x200, 0x800}) { // dead, being woken, new
        task.state = state | 1;
        EXPECT_TRUE(inside()) << state;
    }
    task.state = 1;
    task.frames[0].address = 0x1234;
    EXPECT_FALSE(inside());
    task.unwind_fails = true;
    EXPECT_TRUE(inside());
    task.frames[1].regs = 2; // the bottom of its stack, so that it was unwound as a whole
    task.frames[2].address = test_stack_return(TEST_CALLS_DISPATCH);
    EXPECT_TRUE(inside());
    task.unwind_fails = false;
    EXPECT_FALSE(inside());
    task.frames[1].regs = 1; // an interrupt of the kernel, without a return address
    EXPECT_TRUE(inside());
    task.frames[1].address = 0x1235;
    EXPECT_TRUE(inside());
    task.frames[2].address = 0x1236;
    EXPECT_FALSE(inside());
    djs_script.rethook = 0x40;
    task.frames[2].address = 0x1040;
    EXPECT_TRUE(inside());
}

TEST_F(TaskStacks, NameTheTasksThatAreInside) {
    EXPECT_STREQ(test_name_inside(100), "");
    sleeps_inside(1, "cat");
    sleeps_inside(2, "sleep");
    sleeps_inside(3, "runs");
    test_stacks[3].state = 0; // perhaps
    EXPECT_STREQ(test_name_inside(100), ": cat (101), sleep (102)");
    // A name needs up to 32 bytes.
    EXPECT_STREQ(test_name_inside(43), ": cat (101), sleep (102)");
    EXPECT_STREQ(test_name_inside(42), ": cat (101)");
    EXPECT_STREQ(test_name_inside(32), ": cat (101)");
    EXPECT_STREQ(test_name_inside(31), "");
}

TEST_F(TaskStacks, OfTheLastOneAreLookedAtAgain) {
    EXPECT_FALSE(test_stacks_last_found_inside());
    sleeps_inside(1, "cat");
    EXPECT_TRUE(inside());
    EXPECT_EQ(test_stack_references(), 1U);
    EXPECT_TRUE(test_stacks_last_found_inside());
    test_stacks_be(1); // of the current one, they say nothing
    EXPECT_FALSE(test_stacks_last_found_inside());
    test_stacks_be(0);
    test_stacks[1].words[40] = 0;
    EXPECT_FALSE(test_stacks_last_found_inside());
    test_stacks[1].words[40] = test_stack_return(TEST_CALLS_DISPATCH);
    test_stacks[1].is_exiting = true;
    EXPECT_FALSE(test_stacks_last_found_inside());
    test_stacks_forget_last_found();
    EXPECT_EQ(test_stack_references(), 0U);
    test_stacks[1].is_exiting = false;
    EXPECT_FALSE(test_stacks_last_found_inside());
    EXPECT_TRUE(inside());
    test_stacks[1].words[40] = 0;
    EXPECT_FALSE(inside());
    EXPECT_EQ(test_stack_references(), 0U); // of what is outside, nothing is kept
}

TEST_F(TaskStacks, OfManyAreLookedAtWithRests) {
    for (auto& task : test_stacks)
        task.exists = true;
    EXPECT_FALSE(inside());
    EXPECT_EQ(test_stack_rests, 2U); // after 64 and 128 of the 140
    test_stack_exits = 127;          // where the walk rests, which cannot go on there
    EXPECT_TRUE(inside());
    EXPECT_EQ(test_stack_rests, 4U);
    test_stacks_begin();
    for (u32 i = 0; i < 63; i++)
        test_stacks[i].exists = true;
    EXPECT_FALSE(inside());
    EXPECT_EQ(test_stack_rests, 0U);
    test_stacks[63].exists = true;
    EXPECT_FALSE(inside());
    EXPECT_EQ(test_stack_rests, 1U);
}

TEST_F(TaskStacks, OfTheCurrentTaskTellHowManyCallsReturn) {
    auto& task = test_stacks[0];
    EXPECT_EQ(test_stacks_calls_of_current(), 0);
    task.frames[0].address = test_stack_return(TEST_CALLS_SITE);
    task.frames[1].address = 0x1234;
    task.frames[2].address = test_stack_return(TEST_CALLS_DISPATCH);
    EXPECT_EQ(test_stacks_calls_of_current(), 2);
    task.frames[1].regs = 1;
    EXPECT_EQ(test_stacks_calls_of_current(), 2);
    task.frames[1].regs = 2;
    EXPECT_EQ(test_stacks_calls_of_current(), 1);
    task.unwind_fails = true; // behind that
    EXPECT_EQ(test_stacks_calls_of_current(), 1);
    task.frames[1].regs = 0;
    EXPECT_EQ(test_stacks_calls_of_current(), s64{INT_MAX});
    // What the unwinder has not found may be on the stack.
    for (auto& frame : task.frames)
        frame = {};
    EXPECT_EQ(test_stacks_calls_of_current(), 0);
    task.words[7] = test_stack_return(TEST_CALLS_DISPATCH);
    EXPECT_EQ(test_stacks_calls_of_current(), s64{INT_MAX});
    task.unwind_fails = false;
    EXPECT_EQ(test_stacks_calls_of_current(), 0);
    djs_script.rethook = 0x40;
    task.frames[0].address = 0x1040;
    EXPECT_EQ(test_stacks_calls_of_current(), s64{INT_MAX});
}

} // namespace
