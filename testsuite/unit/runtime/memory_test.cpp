// SPDX-License-Identifier: GPL-2.0-or-later
// Scripts that are loaded when memory is short: they fail, and leave nothing behind.
#include "globals_for_test.h"

#include "free_memory.h"
#include "include/map.h"
#include "userspace/userspace.h"

#include <array>
#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <set>
#include <string>

namespace {

constexpr u64 page_bytes = 4096;

// A script that uses everything that memory is allocated for.
class Memory : public testing::Test {
  protected:
    Memory() {
        map_use_.shape.key_count = 1;
        map_use_.shape.key_types[0] = DJS_LONG;
        map_use_.shape.value_type = DJS_LONG;
        map_use_.shape.capacity = 100;
        map_use_.map = &map_;
        statistic_use_.percpu = &statistic_;
        statistic_use_.shape.bytes = sizeof(djs_statistic);
        iterator_use_.order = &order_;
        iterator_use_.iterator = &iterator_;
        iterator_use_.room = 10;
        iterator_use_.task_room = 20;
        script_.maps = &map_use_;
        script_.statistics = &statistic_use_;
        script_.iterators = &iterator_use_;
        script_.map_count = script_.statistic_count = script_.iterator_count = 1;
        script_.counter_count = 3;
        options_.ring_bytes = 65536;
    }
    void SetUp() override { ASSERT_EQ(djs_user_init(2), 0); }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_pages_available = LONG_MAX / 2;
        djs_user_exit();
    }
    int load() { return djs_user_load(&script_, &options_); }
    static size_t in_use() {
        const auto all = mallinfo2();
        return all.uordblks + all.hblkhd;
    }
    // A sanitizer's allocator does not count; it tells at the end what was not given back.
    static bool is_counted() {
        const size_t before = in_use();
        const std::unique_ptr<void, FreeMemory> some(test_allocate(u64{1} << 20));
        return in_use() > before;
    }

    djs_map* map_ = nullptr;
    void* statistic_ = nullptr;
    djs_iterator* iterator_ = nullptr;
    djs_map_order order_{};
    djs_map_use map_use_{};
    djs_statistic_use statistic_use_{};
    djs_iterator_use iterator_use_{};
    struct djs_script script_{};
    djs_user_options options_{};
};

} // namespace

// Of two arrays, and when the script is loaded again.
TEST_F(Memory, EachArrayHashesByNumbersOfItsOwn) {
    djs_map* other = nullptr;
    std::array<djs_map_use, 2> uses{map_use_, map_use_};
    uses[1].map = &other;
    script_.maps = uses.data();
    script_.map_count = 2;
    std::set<u64> seeds, factors;
    for (int loads = 0; loads < 2; loads++) {
        test_random_number = 7 + 2 * loads;
        ASSERT_EQ(load(), 0);
        for (djs_map* map : {map_, other}) {
            const auto* front = reinterpret_cast<const djs_map_front*>(map); // its first member
            seeds.insert(front->seed);
            factors.insert(front->factor);
        }
        djs_user_unload();
    }
    EXPECT_EQ(seeds.size(), 4U);
    EXPECT_EQ(factors.size(), 4U);
}

TEST_F(Memory, WhicheverAllocationFailsTheScriptDoesNotBegin) {
    long allocations = 0;
    for (int error = -ENOMEM; error; allocations++) {
        SCOPED_TRACE(allocations);
        ASSERT_LT(allocations, 1000);
        test_allocations_left = allocations;
        error = load();
        test_allocations_left = LONG_MAX;
        if (!error) {
            EXPECT_TRUE(map_ && iterator_ && statistic_);
            djs_user_unload();
        } else {
            EXPECT_EQ(error, -ENOMEM);
        }
        EXPECT_FALSE(map_ || iterator_);
    }
    // Contexts and their scratch, the map, the iterator with its ranks, the statistic, counters,
    // locks.
    EXPECT_GT(allocations, 12);
}

// More often than the allocator keeps for itself what was freed.
TEST_F(Memory, IsGivenBack) {
    const auto load_often = [&](int times) {
        for (int i = 0; i < times; i++) {
            ASSERT_EQ(load(), 0) << djs_user_complaint();
            djs_user_unload();
        }
    };
    map_use_.shape.capacity = 4096;
    load_often(30);
    const size_t before = in_use();
    load_often(400);
    if (is_counted()) {
        EXPECT_LT(in_use(), before + size_t{400} * 32);
    }
}

// What was allocated before the one that failed, too.
TEST_F(Memory, IsGivenBackByScriptsThatDoNotBegin) {
    const bool counted = is_counted();
    bool begins = false;
    for (long allocations = 0; !begins; allocations++) {
        SCOPED_TRACE(allocations);
        ASSERT_LT(allocations, 1000);
        const auto fail_often = [&](int times) {
            for (int i = 0; i < times && !begins; i++) {
                test_allocations_left = allocations;
                begins = load() == 0;
                test_allocations_left = LONG_MAX;
                if (begins)
                    djs_user_unload();
            }
        };
        fail_often(30);
        const size_t before = in_use();
        fail_often(100);
        if (counted) {
            EXPECT_LT(in_use(), before + size_t{100} * 32);
        }
    }
}

// What is behind the script's own tables gets nothing.
TEST_F(Memory, IsForWhatTheScriptHas) {
    djs_map* maps[2]{};
    djs_map_use map_uses[]{map_use_, map_use_};
    void* statistics[2]{};
    djs_statistic_use statistic_uses[]{statistic_use_, statistic_use_};
    djs_iterator* iterators[2]{};
    djs_iterator_use iterator_uses[]{iterator_use_, iterator_use_};
    for (const u32 i : {0U, 1U}) {
        map_uses[i].map = &maps[i];
        statistic_uses[i].percpu = &statistics[i];
        iterator_uses[i].iterator = &iterators[i];
    }
    script_.maps = map_uses;
    script_.statistics = statistic_uses;
    script_.iterators = iterator_uses;
    ASSERT_EQ(load(), 0) << djs_user_complaint();
    EXPECT_TRUE(maps[0] && statistics[0] && iterators[0]);
    EXPECT_FALSE(maps[1] || statistics[1] || iterators[1]);
    djs_user_unload();
    EXPECT_FALSE(maps[0] || iterators[0]);
}

// Two copies of a statistic fit the memory that any kernel has for a variable of each CPU.
TEST_F(Memory, StatisticsHaveTheirLargestSize) {
    constexpr u32 largest = 32768 / 2 - 8;
    statistic_use_.shape.bytes = largest;
    ASSERT_EQ(load(), 0) << djs_user_complaint();
    djs_user_unload();
    statistic_use_.shape.bytes = largest + 8;
    EXPECT_EQ(load(), -ENOMEM);
    EXPECT_NE(std::string(djs_user_complaint()).find("a per-CPU statistic of 16392 bytes"),
              std::string::npos)
        << djs_user_complaint();
}

TEST_F(Memory, AQuarterOfWhatTheMachineHasIsLeftToOthers) {
    const auto may_have = [](u64 pages, u64 bytes = 0) {
        const std::unique_ptr<void, FreeMemory> memory(test_allocate(pages * page_bytes + bytes));
        return memory != nullptr;
    };
    test_pages_available = 100;
    EXPECT_TRUE(may_have(0, 1));
    EXPECT_TRUE(may_have(75));
    EXPECT_FALSE(may_have(76));
    EXPECT_FALSE(may_have(100));
    EXPECT_FALSE(may_have(0, 0));
    EXPECT_FALSE(may_have(0, ~u64{0}));
    test_pages_available = 0;
    EXPECT_FALSE(may_have(1));
    test_pages_available = -5; // the kernel's count may be negative
    EXPECT_FALSE(may_have(1));
    EXPECT_EQ(load(), -ENOMEM);
    EXPECT_NE(std::string(djs_user_complaint()).find("no memory for an array of 100 elements"),
              std::string::npos)
        << djs_user_complaint();
    test_pages_available = 100;
    ASSERT_EQ(load(), 0) << djs_user_complaint();
    djs_user_unload();
}
