// SPDX-License-Identifier: GPL-2.0-or-later
// Who may read a session's records, and the clock of their times.
#include "globals_for_test.h"
#include "made_up_rings.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {

TEST(Reader, OwnsTheSessionAlone) {
    test_rings_begin();
    EXPECT_FALSE(test_reader_is_there());
    EXPECT_FALSE(test_reader_was_there());
    EXPECT_EQ(test_rings_reader_pid, -1);
    test_rings_caller = 42;
    EXPECT_TRUE(test_reader_comes());
    EXPECT_TRUE(test_reader_is_there());
    EXPECT_EQ(test_rings_reader_pid, 42);
    test_rings_caller = 43;
    EXPECT_FALSE(test_reader_comes());
    EXPECT_EQ(test_rings_reader_pid, 42);
    test_reader_goes();
    EXPECT_FALSE(test_reader_is_there());
    EXPECT_TRUE(test_reader_was_there());
    EXPECT_EQ(test_rings_reader_pid, -1);
    EXPECT_TRUE(test_reader_comes());
    EXPECT_EQ(test_rings_reader_pid, 43);
    test_reader_wake();
    EXPECT_EQ(test_reader_wakes(), 1U);
    test_reader_goes();
}

TEST(Reader, NeedsACapability) {
    constexpr int sys_admin = 21, perfmon = 38; // linux/capability.h
    struct {
        int capability;
        bool may_write, may_read;
    } const rights[] = {{-1, false, false}, {perfmon, false, true}, {sys_admin, true, true}};
    for (const auto& right : rights) {
        test_rings_capability = right.capability;
        EXPECT_EQ(test_reader_may_open(true), right.may_write) << right.capability;
        EXPECT_EQ(test_reader_may_open(false), right.may_read) << right.capability;
    }
}

// ---- the clock

TEST(RecordClock, IsReadWhereNothingInterrupts) {
    test_rings_begin();
    const test_reading readings[] = {{100, 160, 1, 2},
                                     {1000, 1020, 3, 4},
                                     {2000, 2020, 5, 6}, // not better
                                     {3000, 3021, 7, 8},
                                     {4000, 4100, 9, 10}};
    djs_clock clock{};
    test_rings_clock_read(&clock, readings, 5);
    EXPECT_EQ(clock.cycles, 1010U);
    EXPECT_EQ(clock.monotonic_ns, 3U);
    EXPECT_EQ(clock.realtime_ns, 4U);
    EXPECT_EQ(clock.cycles_khz, 2400000U);
    EXPECT_FALSE(test_rings_irqs_off);
}

} // namespace
