// SPDX-License-Identifier: GPL-2.0-or-later
// The mappings of address spaces, as stacks find them.
#include "kernel_for_test.h"
#include "ustack_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using namespace std::string_literals;

class UserSpaces : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(djs_user_places_init(), 0);
        for (u32 i = 0; i < TEST_SPACES; i++) {
            test_set_users(i, 1);
            references_[i] = test_space_references(i);
        }
    }
    void TearDown() override {
        djs_user_spaces_exit();
        test_readers_are_gone();
        EXPECT_FALSE(test_is_queued());
        djs_user_places_exit();
        for (u32 i = 0; i < TEST_SPACES; i++)
            EXPECT_EQ(test_space_references(i), references_[i]);
        EXPECT_EQ(guarded_count(), 0U);
    }
    static u64 order_of(u32 space) {
        const djs_user_map* map = djs_user_map_of(test_space(space));
        return map ? map->order : 0;
    }

  private:
    int references_[TEST_SPACES]{};
};

TEST_F(UserSpaces, FindTheMappingOfAnAddress) {
    for (u32 count = 0; count < 6; count++) {
        djs_user_map* const map = test_make_map(count, 1);
        // A gap before each, of the size that it has.
        for (u32 i = 0; i < count; i++) {
            map->mappings[i].begin = 0x1000 + 0x2000 * u64{i};
            map->mappings[i].end = 0x2000 + 0x2000 * u64{i};
        }
        for (u64 address = 0; address < 0x2000 * u64{count} + 0x1000; address += 0x800) {
            const bool inside = address / 0x1000 % 2;
            EXPECT_EQ(djs_user_mapping_at(map, address),
                      inside ? &map->mappings[address / 0x2000] : nullptr)
                << count << " " << address;
        }
        for (u32 i = 0; i < count; i++) {
            EXPECT_EQ(djs_user_mapping_at(map, map->mappings[i].end - 1), &map->mappings[i]);
            EXPECT_EQ(djs_user_mapping_at(map, map->mappings[i].begin - 1), nullptr);
        }
        test_free_map(map);
    }
}

TEST_F(UserSpaces, AreKeptByWhatWasSeenLast) {
    EXPECT_EQ(order_of(0), 0U);
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(1, 5)), 0);
    EXPECT_EQ(djs_user_space_set(test_space(1), test_make_map(1, 6)), 0);
    EXPECT_EQ(order_of(0), 5U);
    EXPECT_EQ(order_of(1), 6U);
    EXPECT_EQ(order_of(2), 0U);
    djs_user_map_of(test_space(0))->places = 9;
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(2, 4)), 0); // an older one
    EXPECT_EQ(order_of(0), 5U);
    test_readers_are_gone();
    const djs_user_map* const old = djs_user_map_of(test_space(0));
    const u32 count = guarded_count();
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(2, 7)), 0);
    EXPECT_EQ(order_of(0), 7U);
    ASSERT_EQ(guarded_count(), count + 1);
    EXPECT_EQ(old->order, 5U); // a handler may still be reading it
    test_readers_are_gone();
    EXPECT_EQ(guarded_count(), count);
    EXPECT_EQ(djs_user_map_of(test_space(0))->places, 9U);
    EXPECT_EQ(test_space_references(0), test_space_references(1));
    test_allocations_left = 1;
    EXPECT_EQ(djs_user_space_set(test_space(2), test_make_map(1, 8)), -ENOMEM);
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(order_of(2), 0U);
}

TEST_F(UserSpaces, AreForgottenWhenNobodyUsesThem) {
    EXPECT_FALSE(test_is_queued());
    for (const u32 space : {0U, 1U, 2U})
        EXPECT_EQ(djs_user_space_set(test_space(space), test_make_map(1, space + 1)), 0);
    test_set_users(1, 0);
    const unsigned waits = test_rcu_waits;
    const u32 count = guarded_count();
    EXPECT_TRUE(test_run_queued());
    EXPECT_EQ(test_rcu_waits, waits + 1); // for handlers that look at it
    EXPECT_EQ(test_count_at_wait, count);
    EXPECT_EQ(guarded_count(), count - 2); // the space and its map
    EXPECT_EQ(order_of(0), 1U);
    EXPECT_EQ(order_of(1), 0U);
    EXPECT_EQ(order_of(2), 3U);
    EXPECT_TRUE(test_run_queued()); // again, as some are left
    EXPECT_EQ(test_rcu_waits, waits + 1);
    test_set_users(0, 0);
    test_set_users(2, 0);
    EXPECT_TRUE(test_run_queued());
    EXPECT_FALSE(test_is_queued());
    EXPECT_EQ(guarded_count(), 1U); // the places
    EXPECT_EQ(djs_user_space_set(test_space(2), test_make_map(1, 9)), 0);
    EXPECT_TRUE(test_is_queued());
}

// A number of a place is taken once for each mapping, and only so many by one address space.
TEST_F(UserSpaces, TakeNumbersOfPlaces) {
    djs_user_map* const map = test_make_map(2, 1);
    djs_user_mapping* const mapping = &map->mappings[0];
    EXPECT_EQ(djs_user_word_in(map, nullptr, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(map->places, 0U); // it is of no image
    mapping->image = 3;
    mapping->bias = 0x1000;
    const u64 word = djs_user_word_in(map, mapping, 0x1234, true);
    EXPECT_EQ(map->places, 1U);
    ASSERT_NE(mapping->place, 0U);
    EXPECT_EQ(word, djs_word(0x1234, mapping->place, true));
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1235, false),
              djs_word(0x1235, mapping->place, false));
    EXPECT_EQ(map->places, 1U);
    // Another mapping at the same place has the same number.
    map->mappings[1] = *mapping;
    map->mappings[1].place = 0;
    EXPECT_EQ(djs_user_word_in(map, &map->mappings[1], 0x1234, true), word);
    EXPECT_EQ(map->places, 1U);
    map->places = 4095;
    mapping->place = 0;
    mapping->bias = 0x2000;
    EXPECT_NE(djs_word_place(djs_user_word_in(map, mapping, 0x1234, true)), 0U);
    EXPECT_EQ(map->places, 4096U);
    mapping->place = 0;
    mapping->bias = 0x3000;
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(map->places, 4096U);
    test_free_map(map);
}

} // namespace
