// SPDX-License-Identifier: GPL-2.0-or-later
// The numbers that images get at the addresses where processes have them.
#include "kernel_for_test.h"
#include "ustack_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <sys/types.h>
#include <utility>

extern "C" {
#include "include/symbols.h"
}

namespace {

constexpr u32 numbers = 1U << DJS_WORD_PLACE_BITS;

u32 place_of(u32 image, u64 bias, bool may_add = true) {
    bool is_new = false;
    const u32 place = djs_user_place(image, bias, may_add, &is_new);
    EXPECT_TRUE(place || !is_new);
    EXPECT_TRUE(may_add || !is_new);
    return place;
}

class Places : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(djs_user_places_init(), 0); }
    void TearDown() override {
        djs_user_places_exit();
        EXPECT_EQ(guarded_count(), 0U);
    }
};

TEST_F(Places, NeedMemory) {
    djs_user_places_exit();
    test_allocations_left = 0;
    EXPECT_EQ(djs_user_places_init(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    ASSERT_EQ(djs_user_places_init(), 0);
}

TEST_F(Places, AreFoundByTheirNumbersWhenFewAreLeft) {
    std::map<u32, std::pair<u32, u64>> known;
    u32 refused = 0; // all that were tried belong to others
    for (u32 image = 0; refused < 2000; image = (image + 7) % 16384) {
        const u64 bias = 0x550000000000 + u64{image} * 0x3000 + (known.size() + refused) * 0x1000;
        const u32 place = place_of(image, bias);
        ASSERT_LT(place, numbers);
        if (place == 0) {
            refused++;
            continue;
        }
        const auto [at, is_new] = known.emplace(place, std::pair(image, bias));
        ASSERT_TRUE(is_new || at->second == std::pair(image, bias)) << place;
        ASSERT_EQ(place_of(image, bias), place);
    }
    EXPECT_GT(known.size(), numbers * 3 / 4);
    for (const auto& [number, wanted] : known) {
        u32 image = 0;
        u64 bias = 0;
        ASSERT_TRUE(djs_user_place_find(number, &image, &bias));
        ASSERT_EQ(std::pair(image, bias), wanted);
    }
    // A search that begins at the last numbers goes on with the first ones.
    EXPECT_TRUE(known.contains(numbers - 1));
    EXPECT_TRUE(known.contains(1));
}

// An address space that has added as many as it may finds those that exist.
TEST_F(Places, OfOthersAreFoundWhereNoneMayBeAdded) {
    const u64 missed = djs_user_places_missed();
    EXPECT_EQ(place_of(3, 0x1000, false), 0U);
    const u32 place = place_of(3, 0x1000);
    EXPECT_NE(place, 0U);
    EXPECT_EQ(place_of(3, 0x1000, false), place);
    EXPECT_EQ(place_of(3, 0x2000, false), 0U);
    EXPECT_EQ(djs_user_places_missed(), missed + 2);
}

TEST_F(Places, NothingHasNumberZeroOrOneThatIsTooLarge) {
    u32 image = 0;
    u64 bias = 0;
    EXPECT_FALSE(djs_user_place_find(0, &image, &bias));
    EXPECT_FALSE(djs_user_place_find(numbers, &image, &bias));
    EXPECT_FALSE(djs_user_place_find(5, &image, &bias)); // nobody has it
    djs_user_places_exit();
    EXPECT_FALSE(djs_user_place_find(5, &image, &bias));
    ASSERT_EQ(djs_user_places_init(), 0);
}

TEST_F(Places, TellTheFileAndTheAddressInIt) {
    char text[DJS_SYMBOL_MAX];
    const u32 place = place_of(3, 0x7f0000001000);
    ASSERT_NE(place, 0U);
    const std::string shown = "0x7f0000001234 [/bin/program+0x234]";
    // Readers find the file's symbols by its build-id, which follows.
    EXPECT_EQ(djs_user_word_text(text, djs_word(0x7f0000001234, place, false)),
              shown.size() + 1 + 4);
    EXPECT_EQ(text, shown);
    EXPECT_STREQ(text + shown.size() + 1, "abcd");
    EXPECT_EQ(djs_user_word_text(text, djs_word(0x1234, 0, false)), 6U);
    EXPECT_STREQ(text, "0x1234");
}

} // namespace
