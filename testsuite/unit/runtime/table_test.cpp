// SPDX-License-Identifier: GPL-2.0-or-later
// How many more direct calls the kernel's table has room for, and what is no table.
#include "log_for_test.h"
#include "table_for_test.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

namespace {

class DirectTable : public testing::Test {
  protected:
    void SetUp() override { test_table_begin(); }
    static std::string log() { return taken_log(test_table_log); }
    // What is no table has the entries of this module.
    static void expect_no_table() {
        EXPECT_EQ(test_table_room(true, 30), 7168U - 30);
        EXPECT_EQ(log(), "unknown\n");
    }
};

TEST_F(DirectTable, HasRoomBesideAllEntries) {
    EXPECT_EQ(test_table_room(true, 30), 7168U - 100);
    EXPECT_EQ(test_table_room(true, 100), 7168U - 100);
    for (const u32 count : {7167U, 7168U, 7169U, u32{INT_MAX}}) {
        test_table.count = count;
        EXPECT_EQ(test_table_room(true, 0), count == 7167 ? 1U : 0U) << count;
    }
    EXPECT_EQ(log(), "");
}

TEST_F(DirectTable, IsNotTakenForOne) {
    test_table.size_bits = 13;
    expect_no_table();
    test_table.size_bits = 12;
    test_table.buckets--;
    expect_no_table();
    test_table.buckets++;
    test_table.count = 29; // fewer than this module has
    expect_no_table();
    test_table.count = 1UL << 31;
    expect_no_table();
    test_table.count = 30;
    EXPECT_EQ(test_table_room(true, 30), 7168U - 30);
    EXPECT_EQ(log(), "");
    test_table_address = reinterpret_cast<struct test_table*>(16);
    expect_no_table();
}

TEST_F(DirectTable, IsLookedForOnce) {
    test_has_table_symbol = false;
    EXPECT_EQ(test_table_room(false, 5), 7168U - 5);
    EXPECT_EQ(log(), "direct_functions\nunknown\n");
    test_has_table_symbol = true;
    EXPECT_EQ(test_table_room(false, 5), 7168U - 100);
    EXPECT_EQ(log(), "direct_functions\n");
    EXPECT_EQ(test_table_room(false, 5), 7168U - 100);
    EXPECT_EQ(log(), "");
}

TEST_F(DirectTable, IsLookedForByAKprobeThatDoesNotStay) {
    test_table_kprobe_is_placed = true;
    EXPECT_EQ(test_table_room(false, 5), 7168U - 100);
    EXPECT_EQ(log(), "direct_functions\nno kprobe\n");
    EXPECT_EQ(test_table_room(false, 5), 7168U - 100);
    EXPECT_EQ(log(), "");
}

TEST_F(DirectTable, HasALock) {
    test_table_lock();
    EXPECT_EQ(log(), "has opened it\nlocked\nbetween\nunlocked\nclosed\n");
    test_has_switch = false;
    test_table_lock();
    EXPECT_EQ(log(), "has opened it\nbetween\n");
}

} // namespace
