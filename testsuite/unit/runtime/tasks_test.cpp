// SPDX-License-Identifier: GPL-2.0-or-later
// What tasks are made to do on their way to user mode, and the moments of which the kernel tells.
#include "kernel_for_test.h"
#include "tasks_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>

namespace {

constexpr u32 kept = 16; // works that need no memory when they are added

class Works : public testing::Test {
  protected:
    void SetUp() override {
        runs = 0;
        wakes_before = test_works_state().wakes;
        test_work_runs = [] { runs++; };
        ASSERT_EQ(test_works_open(), 0);
        ASSERT_EQ(guarded_count(), kept);
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_works_free();
        while (test_task_works())
            test_task_runs(0);
        test_task_exits = test_is_rt = false;
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_atomic_depth, 0);
    }
    static u32 free_ones() { return test_works_state().free; }
    static u32 wakes() { return test_works_state().wakes - wakes_before; }
    static inline u32 runs, wakes_before;
};

TEST_F(Works, AreDoneOnce) {
    EXPECT_EQ(test_works_add(true), 0);
    EXPECT_EQ(test_works_add(false), 0);
    EXPECT_EQ(guarded_count(), kept + 2);
    EXPECT_EQ(free_ones(), kept);
    ASSERT_EQ(test_task_works(), 2U);
    test_work_runs = [] {
        runs++;
        EXPECT_EQ(test_works_state().running, 1U);
    };
    test_task_runs(1);
    test_task_runs(0);
    EXPECT_EQ(runs, 2U);
    EXPECT_EQ(test_works_state().running, 0U);
    EXPECT_EQ(wakes(), 0U);
    EXPECT_EQ(guarded_count(), kept); // enough are kept
}

TEST_F(Works, AreKeptForThoseWithoutMemory) {
    test_allocations_left = 0;
    for (u32 i = 0; i < kept; i++) {
        EXPECT_EQ(i % 2 ? test_works_add(true) : test_works_try(), 0) << i;
        EXPECT_EQ(free_ones(), kept - 1 - i);
    }
    EXPECT_EQ(test_works_add(true), -ENOSPC);
    EXPECT_EQ(test_works_try(), -ENOSPC);
    EXPECT_EQ(test_task_works(), kept);
    for (u32 i = 0; i < kept; i++)
        test_task_runs(0);
    EXPECT_EQ(runs, kept);
    EXPECT_EQ(free_ones(), kept);
    EXPECT_EQ(guarded_count(), kept);
    EXPECT_EQ(test_works_add(true), 0);
    EXPECT_EQ(free_ones(), kept - 1);
}

TEST_F(Works, AreNotAddedToTasksThatExit) {
    test_task_exits = true;
    EXPECT_EQ(test_works_add(true), -ESRCH);
    EXPECT_EQ(guarded_count(), kept);
    EXPECT_EQ(test_works_try(), -ESRCH);
    test_allocations_left = 0;
    EXPECT_EQ(test_works_add(true), -ESRCH);
    EXPECT_EQ(free_ones(), kept);
    EXPECT_EQ(guarded_count(), kept);
    test_task_exits = false;
    test_works_close(); // nobody is adding one
    EXPECT_EQ(test_works_add(true), -ESRCH);
    EXPECT_EQ(test_works_try(), -ESRCH);
    EXPECT_EQ(test_task_works(), 0U);
}

TEST_F(Works, WaitForNobody) {
    test_works_lock(true);
    EXPECT_EQ(test_works_try(), -EBUSY);
    test_works_lock(false);
    EXPECT_EQ(test_works_try(), 0);
    EXPECT_EQ(free_ones(), kept - 1);
}

// Whoever has not begun when they are closed frees its work in place of doing it; there are more
// than are left at a time.
TEST_F(Works, ThatWereNotBegunAreLeftToTheKernel) {
    for (const u32 count : {1U, 64U, 65U, 200U}) {
        for (u32 i = 0; i < count; i++)
            ASSERT_EQ(test_works_add(true), 0);
        test_works_close();
        EXPECT_FALSE(test_works_state().open);
        EXPECT_EQ(guarded_count(), kept + count);
        test_task_runs_late(count - 1); // it has read its function before they were closed
        if (count > 1)
            test_task_runs_late(0);
        while (test_task_works())
            test_task_runs(0);
        EXPECT_EQ(runs, 0U);
        EXPECT_EQ(guarded_count(), kept);
        ASSERT_EQ(test_works_open(), 0);
        ASSERT_EQ(guarded_count(), kept);
    }
    // They may be opened again, and are done then.
    ASSERT_EQ(test_works_add(true), 0);
    test_task_runs(0);
    EXPECT_EQ(runs, 1U);
}

TEST_F(Works, AreWaitedForWhileTheyAreAddedOrDone) {
    const u32 waits = test_waits;
    test_works_are_added(3);
    test_works_close();
    EXPECT_EQ(test_waits, waits + 3);
    ASSERT_EQ(test_works_open(), 0);
    // The last one wakes up whoever waits, and only then.
    ASSERT_EQ(test_works_add(true), 0);
    ASSERT_EQ(test_works_add(true), 0);
    test_work_runs = [] {
        test_works_shut();
        test_work_runs = [] {};
        test_task_runs(0);
        EXPECT_EQ(wakes(), 0U);
    };
    test_task_runs(0);
    EXPECT_EQ(wakes(), 1U);
    test_works_close();
}

TEST_F(Works, ThatOtherTasksAreDoingAreWaitedFor) {
    const u32 waits = test_waits;
    test_works_run_elsewhere(2);
    test_works_close();
    EXPECT_EQ(test_works_state().running, 0U);
    EXPECT_EQ(test_waits, waits + 1);
    test_works_close(); // nobody is left
    EXPECT_EQ(test_waits, waits + 1);
}

TEST_F(Works, AreFreedWhenAllTasksAreGone) {
    const unsigned waits = test_rcu_waits, task_waits = test_task_rcu_waits;
    test_works_free();
    EXPECT_EQ(test_task_rcu_waits, task_waits + 1);
    EXPECT_EQ(test_rcu_waits, waits + 1); // for those that run
    EXPECT_EQ(test_count_at_wait, kept);
    EXPECT_EQ(guarded_count(), 0U);
    EXPECT_EQ(free_ones(), 0U);
    test_works_free(); // once
    EXPECT_EQ(test_task_rcu_waits, task_waits + 1);
    EXPECT_EQ(test_rcu_waits, waits + 1);
    ASSERT_EQ(test_works_open(), 0);
    EXPECT_EQ(guarded_count(), kept);
}

TEST_F(Works, NeedMemoryToBeOpened) {
    test_works_free();
    test_allocations_left = 3;
    EXPECT_EQ(test_works_open(), -ENOMEM);
    EXPECT_FALSE(test_works_state().open);
    EXPECT_EQ(test_works_add(true), -ESRCH);
    EXPECT_EQ(guarded_count(), 3U);
    test_works_free(); // what it has got
    EXPECT_EQ(guarded_count(), 0U);
}

TEST_F(Works, NeedAFunctionOfTheKernel) {
    EXPECT_EQ(test_kprobes, 0U);
    test_works_free();
    test_forget_task_work();
    test_has_task_work = false;
    EXPECT_EQ(test_works_open(), -EOPNOTSUPP);
    EXPECT_FALSE(test_works_state().open);
    EXPECT_EQ(guarded_count(), 0U);
    test_has_task_work = true;
    EXPECT_EQ(test_works_open(), 0);
    EXPECT_EQ(test_kprobes, 0U); // what it was found by is gone
    test_works_free();
    test_forget_task_work();
    test_kprobe_is_refused = true;
    EXPECT_EQ(test_works_open(), 0);
    EXPECT_EQ(test_kprobes, 0U);
    test_kprobe_is_refused = false;
    EXPECT_EQ(test_works_add(true), 0);
    EXPECT_EQ(test_task_works(), 1U);
}

// There, nobody who must not sleep may allocate.
TEST_F(Works, OfKernelsWithPreemptRt) {
    test_works_free();
    test_is_rt = true;
    ASSERT_EQ(test_works_open(), 0);
    EXPECT_EQ(guarded_count(), 128U);
    EXPECT_EQ(test_works_add(false), 0);
    EXPECT_EQ(guarded_count(), 128U);
    EXPECT_EQ(test_works_add(true), 0);
    EXPECT_EQ(guarded_count(), 129U);
    test_works_free();
    test_is_rt = false;
}

// ---- tracepoints --------------------------------------------------------------------------------

constexpr u32 exec_and_fork = 1U << 2 | 1U << 1;

TEST(TaskEvents, AreToldFromStartToStop) {
    const u32 waits = test_event_waits;
    EXPECT_EQ(test_events_start(1), 0);
    EXPECT_EQ(test_events_registered(), 1U << 2);
    EXPECT_EQ(test_events_start(2), 0); // the first one is registered
    EXPECT_EQ(test_events_registered(), exec_and_fork);
    EXPECT_EQ(test_event_waits, waits);
    test_events_stop(1);
    EXPECT_EQ(test_events_registered(), 1U << 1);
    test_events_stop(2);
    EXPECT_EQ(test_events_registered(), 0U);
    EXPECT_EQ(test_event_waits, waits + 2); // for those that run
}

TEST(TaskEvents, AreToldAllOrNone) {
    EXPECT_EQ(test_events_start(3), -ENOENT);
    EXPECT_EQ(test_events_registered(), 0U);
    for (const u32 fails : {0U, 1U}) {
        test_event_that_fails = fails;
        EXPECT_EQ(test_events_start(2), -ENOMEM);
        EXPECT_EQ(test_events_registered(), 0U);
    }
    test_event_that_fails = 3;
    EXPECT_EQ(test_events_start(2), 0);
    test_events_stop(2);
}

} // namespace
