// SPDX-License-Identifier: GPL-2.0-or-later
// What scripts learn of the task for which a handler runs, and of other tasks: pid(), task_uid().
#include "facts_fixture.h"

namespace {

using djstap::test::Facts;
using djstap::test::nowhere;

TEST_F(Facts, AreThoseOfTheCurrentTaskOrOfTheInterruptedOne) {
    ctx_.cpu = 3; // the one that was interrupted
    EXPECT_EQ(ids(-1),
              (std::vector<s64>{10, 11, 30, 12, 13, 20, 21, 22, 23, 6, test_fact_address(0)}));
    EXPECT_EQ(text(test_fact_execname), "first");
    EXPECT_EQ(text(test_fact_pexecname), "second");
    EXPECT_EQ(ids(2),
              (std::vector<s64>{50, 51, 10, 52, 53, 60, 61, 62, 63, 3, test_fact_address(2)}));
    EXPECT_EQ(text(test_fact_execname), "third");
    EXPECT_EQ(text(test_fact_pexecname), "first");
    EXPECT_EQ(test_fact_target(&ctx_), 123);
    EXPECT_EQ(test_fact_stp_pid(&ctx_), 456);
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, AreZeroWhereTheyCannotBeRead) {
    test_fact_act_for(&ctx_, 2);
    for (const u64 to : {u64{0}, nowhere}) {
        set();
        test_fact_link(2, TEST_FACT_PARENT, to);
        EXPECT_EQ(test_fact_ppid(&ctx_), 0);
        EXPECT_EQ(text(test_fact_pexecname), "");
        test_fact_link(2, TEST_FACT_GROUP, to);
        EXPECT_EQ(test_fact_pgrp(&ctx_), 0);
        EXPECT_EQ(test_fact_sid(&ctx_), 53);
        test_fact_link(2, TEST_FACT_SIGNAL, to);
        EXPECT_EQ(test_fact_pgrp(&ctx_), 0);
        EXPECT_EQ(test_fact_sid(&ctx_), 0);
        test_fact_link(2, TEST_FACT_CREDENTIALS, to);
        EXPECT_EQ(test_fact_uid(&ctx_), 0);
        EXPECT_EQ(test_fact_euid(&ctx_), 0);
        EXPECT_EQ(test_fact_gid(&ctx_), 0);
        EXPECT_EQ(test_fact_egid(&ctx_), 0);
    }
    EXPECT_EQ(error(), "");
}

// An ID of a user has 32 bits without a sign, unlike that of a process.
TEST_F(Facts, HaveTheSignOfTheirType) {
    tasks_[2].uid = ~0U;
    tasks_[0].pid = -5; // of the idle task's parent, say
    set();
    test_fact_act_for(&ctx_, 2);
    EXPECT_EQ(test_fact_uid(&ctx_), 4294967295);
    EXPECT_EQ(test_fact_ppid(&ctx_), -5);
    tasks_[0].uid = ~0U;
    set();
    test_fact_act_for(&ctx_, -1);
    EXPECT_EQ(test_fact_uid(&ctx_), 4294967295);
    EXPECT_EQ(test_fact_task_pid(&ctx_, test_fact_address(0)), -5);
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfA32BitProgram) {
    const auto is_one = [&](bool has_memory, bool is_compat) {
        tasks_[0].has_memory = tasks_[2].has_memory = has_memory;
        tasks_[0].is_compat = tasks_[2].is_compat = is_compat;
        set();
        test_fact_act_for(&ctx_, -1);
        const s64 current = test_fact___is_compat_task(&ctx_);
        test_fact_act_for(&ctx_, 2);
        EXPECT_EQ(test_fact___is_compat_task(&ctx_), current);
        return current;
    };
    EXPECT_EQ(is_one(true, true), 1);
    EXPECT_EQ(is_one(true, false), 0);
    EXPECT_EQ(is_one(false, true), 0); // of the kernel
    EXPECT_EQ(is_one(false, false), 0);
    // The stack of another task may be gone.
    EXPECT_EQ(is_one(true, true), 1);
    test_fact_link(2, TEST_FACT_REGISTERS, nowhere);
    EXPECT_EQ(test_fact___is_compat_task(&ctx_), 0);
}

TEST_F(Facts, AreNamesThatFitTheirString) {
    memcpy(tasks_[0].name, "0123456789abcdef", 16);
    memcpy(tasks_[1].name, "ABCDEFGHIJKLMNOP", 16);
    set();
    for (const u32 bytes : {64U, 17U, 16U, 15U, 2U, 1U}) {
        djs_script.string_bytes = bytes;
        const size_t room = bytes < 16 ? bytes - 1 : 15;
        EXPECT_EQ(text(test_fact_execname), std::string("0123456789abcdef").substr(0, room));
        EXPECT_EQ(text(test_fact_pexecname), std::string("ABCDEFGHIJKLMNOP").substr(0, room));
        EXPECT_EQ(name_of(test_fact_address(1)), std::string("ABCDEFGHIJKLMNOP").substr(0, room));
        EXPECT_EQ(text(test_fact_module_name),
                  std::string("a_script_of_a_test").substr(0, bytes - 1));
    }
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfOtherTasks) {
    const auto of = [&](u32 number) {
        const s64 task = test_fact_address(number);
        return std::vector<s64>{
            test_fact_task_pid(&ctx_, task),   test_fact_task_tid(&ctx_, task),
            test_fact_task_state(&ctx_, task), test_fact_task_prio(&ctx_, task),
            test_fact_task_nice(&ctx_, task),  test_fact_task_cpu(&ctx_, task),
            test_fact_task_uid(&ctx_, task),   test_fact_task_euid(&ctx_, task),
            test_fact_task_gid(&ctx_, task),   test_fact_task_egid(&ctx_, task)};
    };
    // The default priority is 20, and a nice level of 0; real-time tasks are below 0.
    EXPECT_EQ(of(0), (std::vector<s64>{10, 11, 1, 20, -20, 4, 1020, 1021, 1022, 1023}));
    EXPECT_EQ(of(1), (std::vector<s64>{30, 31, 2, -1, 19, 5, 1040, 1041, 1042, 1043}));
    EXPECT_EQ(of(2), (std::vector<s64>{50, 51, 130, -101, 1, 7, 1060, 1061, 1062, 1063}));
    EXPECT_EQ(test_fact_task_parent(&ctx_, test_fact_address(2)), test_fact_address(0));
    EXPECT_EQ(name_of(test_fact_address(2)), "third");
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfNoTaskAreErrors) {
    for (auto* const function :
         {test_fact_task_pid, test_fact_task_tid, test_fact_task_state, test_fact_task_cpu}) {
        function(&ctx_, 0);
        EXPECT_EQ(error().substr(0, 27), "cannot read 4 bytes at NULL");
    }
    for (auto* const function : {test_fact_task_uid, test_fact_task_euid, test_fact_task_gid,
                                 test_fact_task_egid, test_fact_task_parent}) {
        EXPECT_EQ(function(&ctx_, 0), 0);
        EXPECT_EQ(error().substr(0, 27), "cannot read 8 bytes at NULL");
    }
    test_fact_task_prio(&ctx_, 0);
    EXPECT_NE(error(), "");
    test_fact_task_nice(&ctx_, 0);
    EXPECT_NE(error(), "");
    EXPECT_EQ(name_of(0), "");
    EXPECT_EQ(error().substr(0, 26), "cannot read 1 byte at NULL");
    // A task that has no credentials, and one that has no name.
    test_fact_link(2, TEST_FACT_REAL_CREDENTIALS, nowhere);
    EXPECT_EQ(test_fact_task_gid(&ctx_, test_fact_address(2)), 0);
    EXPECT_EQ(error().substr(0, 27), "cannot read 4 bytes at NULL");
    tasks_[2].name[0] = 0;
    set();
    EXPECT_EQ(name_of(test_fact_address(2)), "");
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, FindTasksByTheirNumbers) {
    EXPECT_EQ(test_fact_pid2task(&ctx_, 31), test_fact_address(1));
    EXPECT_EQ(test_rcu_depth, 0);
    EXPECT_EQ(test_fact_pid2task(&ctx_, 51), test_fact_address(2));
    EXPECT_EQ(test_fact_pid2task(&ctx_, 50), 0); // the threads' own numbers
    EXPECT_EQ(test_fact_lookups, 3U);
    for (const s64 none : {(s64{1} << 32) + 31, -(s64{1} << 32) + 31, s64{1} << 31})
        EXPECT_EQ(test_fact_pid2task(&ctx_, none), 0);
    test_fact_watched = false;
    EXPECT_EQ(test_fact_pid2task(&ctx_, 31), 0);
    EXPECT_EQ(test_fact_lookups, 3U);
}

} // namespace
