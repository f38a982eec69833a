// SPDX-License-Identifier: GPL-2.0-or-later
// Which program a task runs, which processes concern a script, and the values that calls keep.
#include "kernel_for_test.h"
#include "programs_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>
#include <vector>

extern "C" {
#include "programs/programs.h"
extern s32 djs_traced_pid;
extern bool djs_traced_executes;
}

namespace {

// Whatever a test does, nothing is left.
class Programs : public testing::Test {
  protected:
    void SetUp() override {
        for (u32 i = 0; i < TEST_TASKS; i++)
            task(i, {.pid = 1, .tgid = 1, .parent = i, .leader = i});
        for (u32 i = 0; i < TEST_FILES; i++)
            file(i, {});
        test_be_task(0);
    }
    void TearDown() override {
        djs_traced_pid = 0;
        djs_traced_executes = false;
        test_allocations_left = LONG_MAX;
        test_pages_available = LONG_MAX / 2;
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_paths_held(), 0U);
        EXPECT_EQ(test_tasks_locked(), 0U);
        EXPECT_EQ(test_rcu_depth, 0);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_preempt_depth, 0);
    }
    static void task(u32 number, const struct test_task& with) { test_set_task(number, &with); }
    static void file(u32 number, const struct test_file& with) { test_set_file(number, &with); }
};

// ---- programs -----------------------------------------------------------------------------------

TEST_F(Programs, AreFoundByTheirPaths) {
    file(1, {"/bin/one", S_IFREG | 0755, 17, 3, 5});
    file(2, {"/bin", S_IFDIR | 0755, 18, 3, 6});
    djs_program program{.path = "/bin/one", .inode = 0, .device = 0, .generation = 0};
    EXPECT_EQ(djs_program_find(&program), 0);
    EXPECT_EQ(program.inode, 17U);
    EXPECT_EQ(program.device, dev_t{3});
    EXPECT_EQ(program.generation, 5U);
    program = {.path = "/bin", .inode = 0, .device = 0, .generation = 0};
    EXPECT_EQ(djs_program_find(&program), -EACCES);
    EXPECT_EQ(program.inode, 0U);
    program.path = "/bin/other";
    EXPECT_EQ(djs_program_find(&program), -ENOENT);
    // That of -c or -x is found if there is such a process.
    program.path = nullptr;
    EXPECT_EQ(djs_program_find(&program), -ESRCH);
    djs_traced_pid = 7;
    EXPECT_EQ(djs_program_find(&program), 0);
}

TEST_F(Programs, AreTheFilesThatTasksExecuted) {
    file(1, {"/bin/one", S_IFREG | 0755, 17, 3, 5});
    djs_program program{};
    task(1, {.pid = 4, .tgid = 4, .file = 1, .has_memory = true});
    EXPECT_TRUE(djs_program_executed(&program, test_task(1)));
    EXPECT_EQ(program.inode, 17U);
    EXPECT_EQ(program.device, dev_t{3});
    EXPECT_EQ(program.generation, 5U);
    task(1, {.pid = 4, .tgid = 4, .file = 1, .has_memory = false});
    EXPECT_FALSE(djs_program_executed(&program, test_task(1)));
    task(1, {.pid = 4, .tgid = 4, .has_memory = true});
    EXPECT_FALSE(djs_program_executed(&program, test_task(1)));
}

TEST_F(Programs, AreRunByTasksThatExecutedTheSameFile) {
    const struct test_file same{"/bin/one", S_IFREG | 0755, 17, 3, 5};
    file(1, same);
    djs_program program{.path = "/bin/one", .inode = 0, .device = 0, .generation = 0};
    ASSERT_EQ(djs_program_find(&program), 0);
    const auto runs = [&](unsigned flags = 0, bool has_memory = true) {
        task(1, {.pid = 4, .tgid = 4, .flags = flags, .file = 1, .has_memory = has_memory});
        EXPECT_EQ(djs_program_of_still(&program, test_task(1)),
                  djs_program_of(&program, test_task(1)));
        return djs_program_of_still(&program, test_task(1));
    };
    EXPECT_TRUE(runs());
    EXPECT_TRUE(runs(TEST_FORKED));
    EXPECT_FALSE(runs(TEST_OF_KERNEL));
    EXPECT_FALSE(runs(TEST_EXITING));
    EXPECT_FALSE(runs(0, false));
    auto other = same;
    other.inode++;
    file(1, other);
    EXPECT_FALSE(runs());
    other = same;
    other.device++;
    file(1, other);
    EXPECT_FALSE(runs());
    other = same;
    other.generation++;
    file(1, other);
    EXPECT_FALSE(runs());
}

// Without a path: the process of -c or -x, once it has executed what it is to execute.
TEST_F(Programs, TheTargetRunsItsOwn) {
    const djs_program program{};
    djs_traced_pid = 4;
    task(1, {.pid = 5, .tgid = 4, .has_memory = true});
    task(2, {.pid = 4, .tgid = 5, .has_memory = true});
    EXPECT_TRUE(djs_program_of(&program, test_task(1)));
    EXPECT_FALSE(djs_program_of(&program, test_task(2)));
    djs_traced_executes = true;
    EXPECT_FALSE(djs_program_of(&program, test_task(1)));
}

// ---- processes ----------------------------------------------------------------------------------

TEST_F(Programs, AllProcessesConcernAScriptWithoutATarget) {
    task(1, {.pid = 4, .tgid = 4, .parent = 1, .leader = 1});
    EXPECT_TRUE(djs_is_in_tree(test_task(1)));
    test_be_task(1);
    EXPECT_TRUE(djs_concerns_process(0));
    EXPECT_TRUE(djs_concerns_process(4));
    EXPECT_FALSE(djs_concerns_process(5));
}

TEST_F(Programs, TheTargetConcernsItOnceItHasExecuted) {
    djs_traced_pid = 4;
    task(1, {.pid = 5, .tgid = 4, .parent = 0, .leader = 2});
    task(2, {.pid = 4, .tgid = 4, .flags = TEST_FORKED, .leader = 2});
    EXPECT_TRUE(djs_is_in_tree(test_task(1)));
    djs_traced_executes = true;
    EXPECT_FALSE(djs_is_in_tree(test_task(1)));
    // Its thread has not, but the process.
    task(1, {.pid = 5, .tgid = 4, .flags = TEST_FORKED, .leader = 2});
    task(2, {.pid = 4, .tgid = 4, .leader = 2});
    EXPECT_TRUE(djs_is_in_tree(test_task(1)));
    test_be_task(1);
    EXPECT_TRUE(djs_concerns_process(4));
    EXPECT_FALSE(djs_concerns_process(5));
}

// The number of ancestors that are looked at is limited; whoever has more is counted if the target
// was not among them, and whoever has none left is not.
TEST_F(Programs, DescendantsOf256GenerationsConcernIt) {
    // Task 299 is the target, and each one's child has the next lower number.
    djs_traced_pid = 1299;
    for (u32 i = 0; i < TEST_TASKS; i++)
        task(i, {.pid = static_cast<pid_t>(1000 + i),
                 .tgid = static_cast<pid_t>(1000 + i),
                 .parent = i + 1 < TEST_TASKS ? i + 1 : i,
                 .leader = i});
    const u64 deep = djs_deep_hits();
    for (const u32 generation : {1U, 2U, 255U, 256U})
        EXPECT_TRUE(djs_is_in_tree(test_task(299 - generation))) << generation;
    EXPECT_EQ(djs_deep_hits(), deep);
    EXPECT_FALSE(djs_is_in_tree(test_task(299 - 257)));
    EXPECT_EQ(djs_deep_hits(), deep + 1);
    EXPECT_FALSE(djs_is_in_tree(test_task(0)));
    EXPECT_EQ(djs_deep_hits(), deep + 2);
    // The first process of all, which is its own parent, is the 256th, or the first.
    djs_traced_pid = 7;
    for (const u32 generation : {256U, 1U}) {
        task(generation, {.pid = 0, .tgid = 0, .parent = generation, .leader = generation});
        EXPECT_FALSE(djs_is_in_tree(test_task(0))) << generation;
    }
    EXPECT_EQ(djs_deep_hits(), deep + 2);
}

// ---- calls --------------------------------------------------------------------------------------

constexpr u32 places = 8; // of calls that may be mixed up with each other

class Calls : public Programs {
  protected:
    void SetUp() override {
        Programs::SetUp();
        age(0, 100, 10);
        age(1, 100, 10);
        missed_ = djs_calls_missed();
    }
    void TearDown() override {
        djs_calls_free(calls_);
        calls_ = nullptr;
        Programs::TearDown();
    }
    void make(u32 count, u32 words = 1) {
        djs_calls_free(calls_);
        calls_ = djs_calls_make(count, words);
        ASSERT_NE(calls_, nullptr);
    }
    static void age(u32 number, u64 started, u64 executed) {
        task(number, {.pid = 4,
                      .tgid = 4,
                      .started = started,
                      .executed = executed,
                      .parent = number,
                      .leader = number});
    }
    // Returns whether there was room. It keeps its frame's number.
    bool begin(unsigned long frame, bool valid = true, const void* owner = &owner_) {
        u64* values = djs_call_begin(calls_, owner, frame);
        if (!values)
            return false;
        *values = frame;
        djs_call_begun(values, valid);
        return true;
    }
    // Returns whether the values are those of the call.
    bool ends(unsigned long frame, const void* owner = &owner_) {
        u64* values = djs_call_find(calls_, owner, frame);
        const bool found = values && *values == frame;
        if (values)
            djs_call_over(values);
        return found;
    }
    u64 missed() const { return djs_calls_missed() - missed_; }

    struct djs_calls* calls_ = nullptr;
    static inline const int owner_ = 0, other_owner_ = 0;

  private:
    u64 missed_ = 0;
};

TEST_F(Calls, FindTheirValuesOnce) {
    make(places);
    for (unsigned long frame = 0x1000; frame < 0x1000 + places; frame++)
        EXPECT_TRUE(begin(frame));
    for (unsigned long frame = 0x1000; frame < 0x1000 + places; frame++) {
        EXPECT_TRUE(ends(frame)) << frame;
        EXPECT_FALSE(ends(frame)) << frame;
    }
    EXPECT_FALSE(ends(0x2000));
    EXPECT_EQ(missed(), 0U);
}

TEST_F(Calls, BelongToATaskAnOwnerAndAFrame) {
    make(places);
    EXPECT_TRUE(begin(0x1000));
    EXPECT_FALSE(ends(0x1008));
    EXPECT_FALSE(ends(0x1000, &other_owner_));
    test_be_task(1);
    EXPECT_FALSE(ends(0x1000));
    EXPECT_TRUE(begin(0x1000, true, &other_owner_));
    test_be_task(0);
    EXPECT_FALSE(ends(0x1000, &other_owner_));
    EXPECT_TRUE(ends(0x1000));
    EXPECT_EQ(missed(), 0U);
}

TEST_F(Calls, KeepAsManyValuesAsTheyAreMadeFor) {
    constexpr u32 words = 3;
    make(places, words);
    std::vector<u64*> kept;
    for (u64 i = 0; i < places; i++) {
        kept.push_back(djs_call_begin(calls_, &owner_, 0x1000 + i));
        ASSERT_NE(kept.back(), nullptr);
        for (u64 word = 0; word < words; word++)
            kept.back()[word] = 100 * i + word;
        djs_call_begun(kept.back(), true);
    }
    for (u64 i = 0; i < places; i++) {
        const u64* found = djs_call_find(calls_, &owner_, 0x1000 + i);
        ASSERT_EQ(found, kept[i]);
        for (u64 word = 0; word < words; word++)
            EXPECT_EQ(found[word], 100 * i + word);
    }
}

TEST_F(Calls, AreMadeForAsManyAsAreWanted) {
    for (const u32 count : {0U, 1U, 8U, 9U, 16U, 17U, 1024U}) {
        make(count);
        std::set<const u64*> kept;
        for (unsigned long frame = 1; frame <= 8; frame++) {
            const u64* values = djs_call_begin(calls_, &owner_, 0x1000 * frame);
            EXPECT_TRUE(values && kept.insert(values).second) << count;
        }
    }
    // Of many more there is a place for each of these, whose numbers are evenly distributed.
    for (const u32 count : {1024U, 8192U}) {
        make(count);
        for (unsigned long frame = 1; frame <= 64; frame++)
            EXPECT_TRUE(begin(0x7ff000000000 + 0x40 * frame));
        for (unsigned long frame = 1; frame <= 64; frame++)
            EXPECT_TRUE(ends(0x7ff000000000 + 0x40 * frame)) << count;
        EXPECT_EQ(missed(), 0U) << count;
    }
}

TEST_F(Calls, AFreePlaceIsTakenBeforeTheOldestOne) {
    for (unsigned long free = 1; free <= places; free++) {
        make(places);
        for (unsigned long frame = 1; frame <= places; frame++)
            EXPECT_TRUE(begin(0x1000 * frame));
        EXPECT_TRUE(ends(0x1000 * free));
        EXPECT_TRUE(begin(0x9000));
        for (unsigned long frame = 1; frame <= places + 1; frame++)
            EXPECT_EQ(ends(0x1000 * frame), frame != free) << free;
    }
    EXPECT_EQ(missed(), 0U);
}

// Where there is no room, the oldest one that does not run a handler gives its place away.
TEST_F(Calls, TheOldestGivesItsPlaceAway) {
    make(places);
    for (unsigned long frame = 1; frame <= places; frame++)
        EXPECT_TRUE(begin(0x1000 * frame));
    EXPECT_TRUE(begin(0x1000)); // begins again, in its own place: 0x2000 is now the oldest
    EXPECT_TRUE(begin(0x9000));
    EXPECT_EQ(missed(), 0U);
    EXPECT_FALSE(ends(0x2000));
    EXPECT_EQ(missed(), 1U);
    EXPECT_FALSE(ends(0x2000)); // nothing else has given a place away
    EXPECT_EQ(missed(), 1U);
    for (const unsigned long frame : {1, 3, 4, 5, 6, 7, 8, 9})
        EXPECT_TRUE(ends(0x1000 * frame)) << frame;
    EXPECT_EQ(missed(), 1U);
}

TEST_F(Calls, WhatAHandlerUsesStays) {
    make(places);
    std::vector<u64*> used;
    for (unsigned long frame = 1; frame <= places; frame++)
        used.push_back(djs_call_begin(calls_, &owner_, 0x1000 * frame));
    EXPECT_FALSE(begin(0x9000)); // all of them begin
    EXPECT_FALSE(ends(0x9000));
    EXPECT_EQ(missed(), 1U);
    for (u64* values : used)
        djs_call_begun(values, true);
    for (unsigned long frame = 1; frame <= places; frame++)
        EXPECT_EQ(djs_call_find(calls_, &owner_, 0x1000 * frame), used[frame - 1]);
    EXPECT_FALSE(begin(0x9000)); // all of them return
    EXPECT_FALSE(ends(0x9000));
    EXPECT_EQ(missed(), 2U);
    djs_call_over(used[3]);
    EXPECT_TRUE(begin(0x9000));
    EXPECT_TRUE(ends(0x9000));
    EXPECT_EQ(missed(), 2U);
}

// A call whose entry was not handled has no values, and giving its place away misses nothing.
TEST_F(Calls, IgnoredOnesHaveNoValues) {
    make(places);
    EXPECT_TRUE(begin(0x1000, false));
    EXPECT_FALSE(ends(0x1000));
    for (unsigned long frame = 1; frame <= places; frame++)
        EXPECT_TRUE(begin(0x1000 * frame, frame != 1));
    EXPECT_TRUE(begin(0x9000));
    EXPECT_FALSE(ends(0x1000));
    EXPECT_EQ(missed(), 0U);
    EXPECT_TRUE(ends(0x9000));
    for (unsigned long frame = 2; frame <= places; frame++)
        EXPECT_TRUE(ends(0x1000 * frame)) << frame;
}

TEST_F(Calls, AreForgotten) {
    make(places);
    for (unsigned long frame = 1; frame <= places; frame++)
        EXPECT_TRUE(begin(0x1000 * frame));
    djs_calls_forget(calls_);
    EXPECT_FALSE(ends(0x1000));
    EXPECT_TRUE(begin(0x9000)); // where that was
    EXPECT_TRUE(begin(0xa000)); // where one was that is forgotten: nothing is missed
    EXPECT_FALSE(ends(0x2000));
    EXPECT_EQ(missed(), 0U);
    EXPECT_TRUE(ends(0x9000));
    EXPECT_TRUE(ends(0xa000));
    EXPECT_TRUE(begin(0x3000)); // it was not looked for before
    EXPECT_TRUE(ends(0x3000));
}

// Another task may be at the same place in memory later, and the same task executes programs; a
// system call's values are kept until it returns nevertheless.
TEST_F(Calls, AreOfOneTaskAndOneProgram) {
    make(places);
    for (const bool older : {false, true}) {
        age(0, 100, 10);
        EXPECT_TRUE(begin(0x1000));
        EXPECT_TRUE(begin(DJS_SYSTEM_CALL));
        age(0, older ? 101 : 100, older ? 10 : 11);
        EXPECT_FALSE(ends(0x1000));
        EXPECT_TRUE(ends(DJS_SYSTEM_CALL));
        age(0, 100, 10);
        EXPECT_FALSE(ends(0x1000)); // it is gone
    }
    EXPECT_EQ(missed(), 0U);
}

TEST_F(Calls, NeedMemory) {
    djs_calls_free(nullptr);
    for (const long allocations : {0L, 1L, 2L}) {
        test_allocations_left = allocations;
        EXPECT_EQ(djs_calls_make(1024, 2), nullptr);
        EXPECT_EQ(guarded_count(), 0U);
    }
    test_allocations_left = 3;
    make(1024, 2);
    test_allocations_left = LONG_MAX;
    // 128 lists of 8 calls of 10 words, with a lock and a count each: 20 pages.
    make(1024, 2);
    test_pages_available = 25;
    EXPECT_EQ(djs_calls_make(1024, 2), nullptr);
    EXPECT_EQ(guarded_count(), 3U);
    test_pages_available = 28;
    make(1024, 2);
}

} // namespace
