// SPDX-License-Identifier: GPL-2.0-or-later
// What is due of processes and threads, in every order in which a session that looks for those that
// exist and the kernel that tells of execs, forks and exits may come upon them.
#include "kernel_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/types.h>

struct atomic64_t;
extern "C" {
#include "process/members.h"
}

namespace {

djs_program program(u64 inode) {
    return {.path = nullptr, .inode = inode, .device = 1, .generation = 0};
}

// Says what is due, and of which program: "B7" and "E7" of a process, "b" and "e" of a thread.
class Members : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(djs_members_init(), 0); }
    void TearDown() override {
        djs_members_exit();
        EXPECT_EQ(guarded_count(), 0U);
    }

    std::string runs(pid_t thread) {
        djs_process_due due;
        djs_member_runs(thread, &due);
        return text(due);
    }
    std::string exits(pid_t thread, pid_t process, bool is_last) {
        djs_process_due due;
        djs_member_exits(thread, process, is_last, &due);
        return text(due);
    }
    // 0: nobody wants it.
    std::string executes(pid_t process, pid_t old, u64 next) {
        djs_process_due due;
        const djs_program wanted = program(next);
        const bool begins = djs_member_executes(process, old, next != 0 ? &wanted : nullptr, &due);
        return text(due) + (begins ? "B" + std::to_string(next) : "");
    }
    static bool add(pid_t process, u64 inode) {
        const djs_program wanted = program(inode);
        return djs_member_add(process, &wanted);
    }
    // Adds processes from 1 on, until there is no room. Returns how many there were.
    static pid_t add_until_full(pid_t most = 100'000) {
        pid_t added = 0;
        while (added < most && add(added + 1, 7))
            added++;
        return added;
    }
    // What is left in the lists would be found by the tests that follow.
    void end_all(pid_t from, pid_t to) {
        for (pid_t number = from; number <= to; number++)
            EXPECT_EQ(exits(number, number, true), "B7E7");
    }
    static void expect(pid_t process, u64 inode) {
        const djs_program wanted = program(inode);
        djs_member_expect(process, &wanted);
    }

  private:
    static std::string text(const djs_process_due& due) {
        const std::string of = std::to_string(due.program.inode);
        return (due.process_begins ? "B" + of : "") + (due.thread_begins ? "b" : "") +
               (due.thread_ends ? "e" : "") + (due.process_ends ? "E" + of : "");
    }
};

TEST_F(Members, ANewProcessBeginsAndEndsWithItsThreads) {
    EXPECT_TRUE(add(10, 7));
    EXPECT_FALSE(add(10, 7));
    EXPECT_EQ(runs(10), "B7");
    EXPECT_EQ(runs(10), "");
    EXPECT_TRUE(djs_member_add_thread(11, 10));
    EXPECT_EQ(runs(11), "b");
    EXPECT_EQ(exits(10, 10, false), "");
    EXPECT_EQ(exits(11, 10, true), "eE7");
    EXPECT_EQ(exits(11, 10, true), "");
    EXPECT_FALSE(djs_member_add_thread(12, 10));
}

TEST_F(Members, AnExecEndsOneProgramAndBeginsAnother) {
    EXPECT_EQ(executes(10, 10, 7), "B7");
    EXPECT_EQ(executes(10, 10, 7), "E7B7");
    EXPECT_TRUE(djs_member_add_thread(11, 10));
    EXPECT_EQ(runs(11), "b");
    EXPECT_EQ(exits(10, 10, false), "");
    EXPECT_EQ(executes(10, 11, 8), "eE7B8");
    EXPECT_EQ(executes(10, 10, 0), "E8");
    EXPECT_EQ(exits(10, 10, true), "");
}

TEST_F(Members, WhatExistsBeginsWhenItRuns) {
    djs_members_adding();
    expect(10, 7);
    EXPECT_TRUE(djs_member_add_existing(10, 10));
    EXPECT_FALSE(djs_member_add_existing(10, 10));
    EXPECT_TRUE(djs_member_add_existing(11, 10));
    EXPECT_FALSE(djs_member_add_existing(20, 20));
    djs_members_added();
    EXPECT_EQ(runs(11), "B7b");
    EXPECT_EQ(exits(11, 10, false), "e");
    EXPECT_EQ(exits(10, 10, true), "E7");
}

TEST_F(Members, AProcessThatExecutesAndExitsWhileItIsAddedEnds) {
    for (const bool added : {false, true})
        for (const u64 next : {u64{7}, u64{8}}) {
            djs_members_adding();
            expect(10, 7);
            EXPECT_EQ(added && djs_member_add_existing(10, 10), added);
            // Of the program that it had before nobody was told, unless it is another one.
            EXPECT_EQ(executes(10, 10, next), added && next == 8 ? "B7E7B8"
                                              : next == 8        ? "B8"
                                                                 : "B7");
            EXPECT_FALSE(djs_member_add_existing(10, 10));
            EXPECT_EQ(exits(10, 10, true), "E" + std::to_string(next));
            EXPECT_FALSE(djs_member_add_existing(10, 10));
            djs_members_added();
            EXPECT_EQ(runs(10), "");
            EXPECT_EQ(exits(10, 10, true), "");
        }
}

TEST_F(Members, AProcessThatExecutesSomethingElseWhileItIsAddedIsForgotten) {
    for (const bool added : {false, true}) {
        djs_members_adding();
        expect(10, 7);
        EXPECT_EQ(added && djs_member_add_existing(10, 10), added);
        EXPECT_EQ(executes(10, 10, 0), added ? "B7E7" : "");
        EXPECT_FALSE(djs_member_add_existing(10, 10));
        EXPECT_EQ(executes(10, 10, 8), "B8"); // and then another one that is wanted
        EXPECT_EQ(executes(10, 10, 0), "E8");
        EXPECT_FALSE(djs_member_add_existing(10, 10));
        djs_members_added();
        EXPECT_EQ(exits(10, 10, true), "");
    }
}

TEST_F(Members, AProcessThatIsFoundBeforeTheKernelTellsOfItBeginsOnce) {
    djs_members_adding();
    expect(10, 7);
    EXPECT_TRUE(add(10, 7));
    EXPECT_FALSE(djs_member_add_existing(10, 10));
    EXPECT_EQ(exits(10, 10, true), "B7E7");
    expect(20, 7);
    EXPECT_TRUE(djs_member_add_existing(20, 20));
    EXPECT_FALSE(add(20, 7));
    djs_members_added();
    EXPECT_EQ(runs(20), "B7");
    EXPECT_EQ(exits(20, 20, true), "E7");
}

TEST_F(Members, AThreadThatIsOverIsNotAdded) {
    djs_members_adding();
    expect(10, 7);
    EXPECT_TRUE(djs_member_add_thread(12, 10));
    EXPECT_EQ(runs(12), "B7b");
    EXPECT_EQ(exits(12, 10, false), "e"); // the others are not known yet
    EXPECT_EQ(exits(11, 10, false), "");
    EXPECT_FALSE(djs_member_add_existing(12, 10));
    EXPECT_FALSE(djs_member_add_existing(11, 10));
    EXPECT_EQ(exits(10, 10, true), "E7");
    EXPECT_FALSE(djs_member_add_existing(10, 10));
    djs_members_added();
    EXPECT_TRUE(add(12, 8)); // the number again
    EXPECT_EQ(exits(12, 12, true), "B8E8");
}

TEST_F(Members, TheLastThreadMayBeOneThatWasNotAdded) {
    djs_members_adding();
    expect(10, 7);
    EXPECT_TRUE(djs_member_add_existing(11, 10));
    EXPECT_EQ(runs(11), "B7b");
    EXPECT_EQ(exits(11, 10, false), "e");
    djs_members_added(); // 10 was exiting when it was looked at
    EXPECT_EQ(exits(10, 10, true), "E7");
    EXPECT_EQ(exits(10, 10, true), "");
}

TEST_F(Members, AThreadTakesTheNumberOfItsProcessWhileItIsAdded) {
    for (const bool late : {false, true}) {
        djs_members_adding();
        expect(10, 7);
        EXPECT_EQ(exits(10, 10, false), "");
        EXPECT_EQ(!late && djs_member_add_existing(11, 10), !late);
        EXPECT_EQ(executes(10, 11, 8), late ? "B8" : "B7beE7B8");
        EXPECT_FALSE(djs_member_add_existing(11, 10)); // its number was read before
        EXPECT_FALSE(djs_member_add_existing(10, 10));
        djs_members_added();
        EXPECT_EQ(exits(10, 10, true), "E8");
    }
    // Found with its new number, before the kernel tells of the exec.
    djs_members_adding();
    expect(10, 8);
    EXPECT_TRUE(djs_member_add_existing(10, 10));
    djs_members_added();
    EXPECT_EQ(executes(10, 11, 8), "B8");
    EXPECT_EQ(exits(10, 10, true), "E8");
}

// Whatever list a number leads to: the first one, and the last.
TEST_F(Members, WhatWasOnlyForTheBeginningIsForgottenInEachList) {
    for (const pid_t number : {4096, 4095}) {
        djs_members_adding();
        expect(number, 7);
        expect(10, 7);
        EXPECT_TRUE(djs_member_add_existing(number, number));
        EXPECT_TRUE(djs_member_add_existing(10, 10));
        EXPECT_EQ(exits(number + 4096, 10, false), "");
        EXPECT_FALSE(djs_member_add_existing(number + 4096, 10)); // it is over
        djs_members_added();
        // Whoever has the number now is another one, and no thread may still be found.
        EXPECT_TRUE(djs_member_add_existing(number + 4096, 10));
        EXPECT_EQ(exits(number, number, false), "B7E7");
        EXPECT_EQ(exits(number + 4096, 10, false), "B7be");
        EXPECT_EQ(exits(10, 10, true), "E7");
    }
}

TEST_F(Members, NeedMemory) {
    djs_members_exit();
    test_pages_available = 100;
    EXPECT_EQ(djs_members_init(), -ENOMEM);
    EXPECT_EQ(guarded_count(), 0U);
    test_pages_available = LONG_MAX / 2;
    test_allocations_left = 0;
    EXPECT_EQ(djs_members_init(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    ASSERT_EQ(djs_members_init(), 0);
}

// A full table does not follow what begins, and counts it; who exits leaves room. A process takes
// two entries, one of them for its thread.
TEST_F(Members, NoMoreThan32768AreFollowed) {
    const u64 missed = djs_members_missed();
    const pid_t last = add_until_full();
    EXPECT_EQ(last, 32768 / 2);
    EXPECT_EQ(djs_members_missed(), missed + 1);
    EXPECT_FALSE(djs_member_add_thread(50'000, 1));
    EXPECT_EQ(djs_members_missed(), missed + 2);
    EXPECT_EQ(runs(last + 1), "");
    EXPECT_EQ(exits(last + 1, last + 1, true), "");
    EXPECT_EQ(exits(1, 1, true), "B7E7");
    EXPECT_TRUE(add(60'000, 8));
    EXPECT_FALSE(add(60'001, 8));
    EXPECT_EQ(djs_members_missed(), missed + 3);
    EXPECT_EQ(exits(60'000, 60'000, true), "B8E8");
    end_all(2, last);
    EXPECT_EQ(djs_members_missed(), missed + 3);
}

TEST_F(Members, AProcessWithoutRoomForItsThreadLeavesNothing) {
    constexpr pid_t last = 32768 / 2 - 1;
    ASSERT_EQ(add_until_full(last), last);
    EXPECT_TRUE(djs_member_add_thread(50'000, 1));
    const u64 missed = djs_members_missed();
    EXPECT_FALSE(add(60'000, 7));
    EXPECT_EQ(executes(60'000, 60'000, 7), "");
    EXPECT_EQ(djs_members_missed(), missed + 2);
    EXPECT_TRUE(djs_member_add_thread(50'001, 1)); // the last one
    EXPECT_FALSE(djs_member_add_thread(50'002, 1));
    EXPECT_EQ(exits(50'000, 1, false), "B7be");
    EXPECT_EQ(exits(50'001, 1, false), "be");
    EXPECT_EQ(exits(1, 1, true), "E7");
    end_all(2, last);
}

} // namespace
