// SPDX-License-Identifier: GPL-2.0-or-later
// Which mappings of processes stacks know, and when they are looked at.
#include "kernel_for_test.h"
#include "prepare_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <vector>

namespace {

class Preparations : public testing::Test {
  protected:
    void SetUp() override {
        for (u32 process = 0; process < TEST_PROCESSES; process++) {
            test_set_areas(process, nullptr, 0);
            test_set_flags(process, 0, true);
        }
        test_set_load(0x1000, 0x1800, 0x401000);
        test_vdso = 0;
        test_prepare_sleeps = 0;
        test_prepare_add_may_sleep = test_prepare_add_warns = true;
    }
    void TearDown() override {
        test_prepare_exit();
        test_prepare_is_killed = test_prepare_no_works = false;
        test_prepare_error = test_prepare_probe_error = 0;
        test_allocations_left = LONG_MAX;
        for (u32 process = 0; process < TEST_PROCESSES; process++)
            test_prepare_runs(process); // the next test begins without any that is due
        EXPECT_FALSE(test_prepare_probed() || test_prepare_asked());
        EXPECT_EQ(test_prepare_held(), 0U);
        EXPECT_EQ(test_rcu_depth, 0);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_preempt_depth, 0);
        EXPECT_EQ(guarded_count(), 0U);
    }
    // Looks at the mappings of the first process.
    static void look(const std::vector<test_area>& areas) {
        test_set_areas(0, areas.data(), static_cast<u32>(areas.size()));
        test_prepare_executes(0);
        EXPECT_EQ(test_prepare_due(0), 1U);
        test_prepare_runs(0);
    }
    // What the kernel tells of is told where nobody may wait for memory, or the kernel warn.
    static void expect_no_wait() {
        EXPECT_FALSE(test_prepare_add_may_sleep);
        EXPECT_FALSE(test_prepare_add_warns);
        test_prepare_add_may_sleep = test_prepare_add_warns = true;
    }
    // Where the file is, in a process that maps it from a page on.
    static struct test_placed placed(u64 begin, u64 page, u64 pages) {
        look({{begin, begin + pages * 0x1000, page, true, true}});
        EXPECT_EQ(test_placed_count(), 1U);
        return test_placed(0);
    }
};

constexpr u32 no_image = ~0U;

TEST_F(Preparations, FindCodeAndWhereItsFileIs) {
    ASSERT_EQ(test_prepare_init(1), 0);
    test_vdso = 0x7fff00000000;
    look({{0x7f0000000000, 0x7f0000001000, 0, false, true},
          {0x7f0000001000, 0x7f0000003000, 1, true, true},
          {0x7f0000004000, 0x7f0000005000, 9, true, false},
          {0x7fff00000000, 0x7fff00002000, 0, true, false}});
    ASSERT_EQ(test_placed_count(), 3U);
    EXPECT_EQ(test_placed(0).begin, 0x7f0000001000U);
    EXPECT_EQ(test_placed(0).end, 0x7f0000003000U);
    EXPECT_EQ(test_placed(0).image, 5U);
    EXPECT_EQ(test_placed(0).bias, 0x7f0000001000U - 0x401000);
    EXPECT_EQ(test_placed(1).image, no_image); // code of no file
    EXPECT_EQ(test_placed(1).bias, 0U);
    EXPECT_EQ(test_placed(2).image, 6U); // the kernel's
    EXPECT_EQ(test_placed(2).bias, 0x7fff00000000U);
    const u64 order = test_placed_order();
    look({});
    EXPECT_EQ(test_placed_count(), 0U);
    EXPECT_GT(test_placed_order(), order);
}

TEST_F(Preparations, PlaceWhatIsMappedOfTheCode) {
    ASSERT_EQ(test_prepare_init(1), 0);
    constexpr u64 at = 0x7f0000000000;
    EXPECT_EQ(placed(at, 2, 1).image, 5U); // its second page, which it fills half
    EXPECT_EQ(test_placed(0).bias, at - 0x402000);
    EXPECT_EQ(placed(at, 3, 1).image, no_image);
    EXPECT_EQ(placed(at, 0, 1).image, no_image);
    EXPECT_EQ(placed(at, 0, 2).image, 5U);
    EXPECT_EQ(test_placed(0).bias, at + 0x1000 - 0x401000);
    test_set_load(0x1000, 0x1000, 0x401000);
    EXPECT_EQ(placed(at, 2, 1).image, no_image);
    // Not where no file is placed: between pages, below 0, or above what an address may be.
    test_set_load(0x1000, 0x1000, 0x401010);
    EXPECT_EQ(placed(at, 1, 1).image, no_image);
    test_set_load(0x1000, 0x1000, 0x401000);
    EXPECT_EQ(placed(0x1000, 1, 1).image, no_image);
    EXPECT_EQ(placed(u64{1} << 47, 1, 1).image, 5U);
    test_set_load(0x1000, 0x1000, 0);
    EXPECT_EQ(placed(u64{1} << 47, 1, 1).image, no_image);
}

TEST_F(Preparations, FindAsManyAsThereAre) {
    ASSERT_EQ(test_prepare_init(1), 0);
    for (const u32 count : {31U, 32U, 33U, 60U}) {
        std::vector<test_area> areas;
        for (u64 i = 0; i < count; i++)
            areas.push_back({0x10000 * i, 0x10000 * i + 0x1000, 1, true, true});
        look(areas);
        ASSERT_EQ(test_placed_count(), count);
        EXPECT_EQ(test_placed(count - 1).begin, 0x10000U * (count - 1));
        EXPECT_EQ(test_prepare_held(), 0U);
    }
    const u32 before = test_prepared(0);
    for (const long allocations : {0L, 1L}) {
        test_allocations_left = allocations;
        test_prepare_executes(0);
        test_prepare_runs(0);
        EXPECT_EQ(test_prepared(0), before);
        EXPECT_EQ(test_prepare_held(), 0U);
    }
}

// A process may map as much as it wants: the memory for what is found has a limit.
TEST_F(Preparations, FindAtMost16384) {
    ASSERT_EQ(test_prepare_init(1), 0);
    std::vector<test_area> areas;
    for (u64 i = 0; i < TEST_AREAS; i++)
        areas.push_back({0x10000 * i, 0x10000 * i + 0x1000, 1, true, true});
    test_set_areas(0, areas.data(), TEST_AREAS);
    for (const u32 count : {16384U, 16385U}) {
        test_set_area_count(0, count);
        test_prepare_executes(0);
        test_prepare_runs(0);
        EXPECT_EQ(test_prepared(0), 1U) << count;
        EXPECT_EQ(test_placed_count(), 16384U);
        EXPECT_EQ(test_prepare_held(), 0U);
        EXPECT_EQ(guarded_count(), 0U);
    }
}

TEST_F(Preparations, ConcernAllProcessesThatExist) {
    test_set_flags(2, 0x200000, true); // of the kernel
    test_set_flags(3, 0, false);       // it exits
    ASSERT_EQ(test_prepare_init(1), 0);
    EXPECT_EQ(test_prepared(0), 1U);
    EXPECT_EQ(test_prepared(1), 1U);
    EXPECT_EQ(test_prepared(2), 0U);
    EXPECT_EQ(test_prepared(3), 0U);
    EXPECT_EQ(test_prepare_sleeps, 0U);
}

// Others that are locked are looked at a few times, and then do it themselves.
TEST_F(Preparations, WaitForLocksForAWhile) {
    test_set_locked(0, 4);
    test_set_locked(2, 5);
    test_set_locked(3, 1);
    ASSERT_EQ(test_prepare_init(1), 0);
    EXPECT_EQ(test_prepare_sleeps, 4U);
    for (const u32 process : {0U, 1U, 3U}) {
        EXPECT_EQ(test_prepared(process), 1U) << process;
        EXPECT_EQ(test_prepare_due(process), 0U) << process;
    }
    EXPECT_EQ(test_prepared(2), 0U);
    EXPECT_EQ(test_prepare_due(2), 1U);
    test_prepare_runs(2);
    EXPECT_EQ(test_prepared(2), 1U);
}

// A task waits for its own process, whoever has its mappings locked.
TEST_F(Preparations, WaitForTheOwnProcess) {
    ASSERT_EQ(test_prepare_init(1), 0);
    const test_area code = {0x7f0000001000, 0x7f0000003000, 1, true, true};
    test_set_areas(0, &code, 1);
    test_set_locked(0, 1);
    test_prepare_executes(0);
    test_prepare_runs(0);
    EXPECT_EQ(test_prepared(0), 1U);
    EXPECT_EQ(test_placed_count(), 1U);
}

TEST_F(Preparations, AreDueOnceForSeveralReasons) {
    ASSERT_EQ(test_prepare_init(1), 0);
    test_prepare_executes(0);
    test_prepare_executes(0);
    test_prepare_maps(0, true, 0);
    test_prepare_soon(0);
    EXPECT_EQ(test_prepare_due(0), 1U);
    test_prepare_runs(0);
    for (int i = 0; i < 2; i++) {
        test_prepare_soon(0);
        EXPECT_EQ(test_prepare_due(0), 1U);
    }
    test_prepare_runs(0);
    // What could not be asked for is asked for again.
    test_prepare_no_works = true;
    test_prepare_executes(0);
    test_prepare_soon(0);
    test_prepare_no_works = false;
    EXPECT_EQ(test_prepare_due(0), 0U);
    test_prepare_executes(0);
    EXPECT_EQ(test_prepare_due(0), 1U);
    test_prepare_runs(0);
    test_prepare_no_works = true;
    test_prepare_soon(0);
    test_prepare_no_works = false;
    test_prepare_soon(0);
    EXPECT_EQ(test_prepare_due(0), 1U);
}

TEST_F(Preparations, ConcernWhatIsCreatedAndMapped) {
    ASSERT_EQ(test_prepare_init(1), 0);
    test_prepare_executes(1);
    EXPECT_EQ(test_prepare_due(1), 1U);
    expect_no_wait();
    test_prepare_forks(0, 2);
    EXPECT_EQ(test_prepare_due(2), 1U);
    expect_no_wait();
    EXPECT_EQ(test_prepare_due(0), 0U);
    test_prepare_shares_memory(3, 0); // a thread
    test_prepare_forks(0, 3);
    EXPECT_EQ(test_prepare_due(3), 0U);
    for (const bool has_memory : {true, false}) {
        test_set_flags(3, has_memory ? 0x200000 : 0, has_memory);
        test_prepare_forks(0, 3);
        test_prepare_soon(3);
        EXPECT_EQ(test_prepare_due(3), 0U);
    }
    test_prepare_maps(0, false, 0);
    test_prepare_maps(0, true, 1); // of another process
    EXPECT_EQ(test_prepare_due(0), 0U);
    test_prepare_maps(0, true, 0);
    EXPECT_EQ(test_prepare_due(0), 1U);
    expect_no_wait();
}

TEST_F(Preparations, OfAKilledTaskAreNotFinished) {
    ASSERT_EQ(test_prepare_init(1), 0);
    const u32 before = test_prepared(0);
    // It gets a lock that is free, but waits for no other one.
    for (const u32 looks : {0U, 1U}) {
        test_prepare_is_killed = false;
        test_set_locked(0, looks);
        test_prepare_executes(0);
        test_prepare_is_killed = true;
        test_prepare_runs(0);
        EXPECT_EQ(test_prepared(0), before) << looks;
        EXPECT_EQ(test_prepare_held(), 0U);
        EXPECT_EQ(guarded_count(), 0U);
    }
    test_prepare_exit();
    EXPECT_EQ(test_prepare_init(1), -EINTR);
    EXPECT_FALSE(test_prepare_probed());
}

TEST_F(Preparations, NeedEventsAndMemory) {
    test_prepare_error = -ENOENT;
    EXPECT_EQ(test_prepare_init(1), -ENOENT);
    EXPECT_FALSE(test_prepare_probed());
    test_prepare_error = 0;
    test_prepare_probe_error = -EINVAL;
    EXPECT_EQ(test_prepare_init(1), -EINVAL);
    EXPECT_FALSE(test_prepare_probed() || test_prepare_asked());
    test_prepare_probe_error = 0;
    test_allocations_left = 0;
    EXPECT_EQ(test_prepare_init(1), -ENOMEM);
    EXPECT_FALSE(test_prepare_probed());
}

} // namespace
