// SPDX-License-Identifier: GPL-2.0-or-later
// foreach and slices where nobody rests: their limits, their order, how much is walked over at
// once.
#include "globals_for_test.h"

#include "include/map.h"
#include "map/layout.h"
#include "maps.h"
#include "userspace/userspace.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

extern "C" void djs_end_walks(); // globals/globals.h

namespace {

// An array, and one foreach statement over it.
class Foreach : public testing::Test {
  protected:
    // Two numbers' keys and a number.
    Foreach() : Foreach(shape_of({DJS_LONG, DJS_LONG}, DJS_LONG, 300'000)) {}
    explicit Foreach(const djs_map_shape& shape) {
        use_.shape = shape;
        use_.map = &map_;
        iterator_use_.order = &order;
        iterator_use_.iterator = &iterator;
        script_.maps = &use_;
        script_.iterators = &iterator_use_;
        script_.map_count = script_.iterator_count = 1;
        options_.ring_bytes = 65536;
        context.error_text = error_text_;
        context.rests = DJS_RESTS_NEVER;
    }
    void SetUp() override { ASSERT_EQ(djs_user_init(1), 0); }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
    }
    void load_empty(s32 sort_key, u32 ascending, u32 room) {
        order = {sort_key, ascending, 0, 0};
        iterator_use_.room = iterator_use_.task_room = room;
        ASSERT_EQ(djs_user_load(&script_, &options_), 0) << djs_user_complaint();
    }
    void add(u32 elements) {
        for (s64 i = 0; i < elements; i++) {
            const djs_value keys[] = {number(i % 10), number(i)};
            *static_cast<s64*>(djs_map_insert(map_, keys)) = 1000 - i;
        }
    }
    // Elements [i % 10, i] = 1000 - i.
    void load(u32 elements, s32 sort_key = -1, u32 ascending = 1, u32 room = 0) {
        load_empty(sort_key, ascending, room);
        add(elements);
    }
    // The second keys that a foreach comes to.
    std::vector<s64> walked(s64 limit = -1, const djs_value* slice = nullptr) {
        djs_foreach foreach{};
        djs_foreach_begin(&context, &foreach, iterator, slice, limit, 7);
        return rest_of(foreach);
    }
    std::vector<s64> rest_of(djs_foreach& foreach) {
        std::vector<s64> keys;
        while (!context.error) {
            const u32 element = djs_foreach_next(&context, &foreach);
            if (!element)
                break;
            keys.push_back(djs_map_key(map_, element, 1).number);
        }
        return keys;
    }
    std::string error() {
        const std::string text = context.error ? context.error : "";
        context.error = nullptr;
        return text;
    }
    u32 count() const { return djs_map_count(map_); }
    djs_map** map() { return &map_; }

    djs_ctx context{};
    djs_map_order order{};
    djs_iterator* iterator = nullptr;

  private:
    djs_map* map_ = nullptr;
    djs_map_use use_{};
    djs_iterator_use iterator_use_{};
    struct djs_script script_{};
    djs_user_options options_{};
    char error_text_[4096];
};

// An array of one string of up to `Bytes` - 1 bytes that begins as all others do, and a number.
template <u32 Bytes> class ForeachOfTexts : public Foreach {
  protected:
    ForeachOfTexts() : Foreach(shape()) {}
    // Keys in rising order.
    void load(u32 elements, u32 ascending, u32 room) {
        load_empty(1, ascending, room);
        std::string key(Bytes - 1, 'x');
        for (u32 i = 0; i < elements; i++) {
            for (u32 digit = 0, left = i; digit < 6; digit++, left /= 10)
                key[key.size() - 1 - digit] = static_cast<char>('0' + left % 10);
            const djs_value keys[] = {text(key.c_str())};
            *static_cast<s64*>(djs_map_insert(*map(), keys)) = i;
        }
    }
    // The values of the elements that a foreach comes to.
    std::vector<s64> values(s64 limit) {
        djs_foreach foreach{};
        std::vector<s64> found;
        djs_foreach_begin(&context, &foreach, iterator, nullptr, limit, 7);
        while (!context.error) {
            const u32 element = djs_foreach_next(&context, &foreach);
            if (!element)
                break;
            found.push_back(*static_cast<const s64*>(djs_map_value(*map(), element)));
        }
        return found;
    }

  private:
    static djs_map_shape shape() {
        djs_map_shape shape = shape_of({DJS_STRING}, DJS_LONG, 12'000);
        shape.string_bytes = Bytes;
        return shape;
    }
};
// An array of one number and a value of this type.
template <u8 Value> class ForeachOf : public Foreach {
  protected:
    ForeachOf() : Foreach(shape()) {}

  private:
    static djs_map_shape shape() {
        djs_map_shape shape = shape_of({DJS_LONG}, Value, 200'000);
        shape.string_bytes = 512;
        return shape;
    }
};
using ForeachOfTextValues = ForeachOf<DJS_STRING>;
using ForeachOfStatistics = ForeachOf<DJS_STATISTIC>;
using ForeachOfPaths = ForeachOfTexts<512>;
using ForeachOfLongTexts = ForeachOfTexts<8192>;

using Keys = std::vector<s64>;

const std::string too_many_walked = " elements with interrupts disabled: use a "
                                    "timer or an end probe";

} // namespace

TEST_F(Foreach, EndsAtItsLimit) {
    load(5);
    EXPECT_EQ(walked(), (Keys{0, 1, 2, 3, 4}));
    EXPECT_EQ(walked(3), (Keys{0, 1, 2}));
    EXPECT_EQ(walked(5), (Keys{0, 1, 2, 3, 4}));
    EXPECT_EQ(walked(6), (Keys{0, 1, 2, 3, 4}));
    EXPECT_EQ(walked(0), Keys{});
    EXPECT_EQ(error(), "");
}

TEST_F(Foreach, SortsByValueOrKey) {
    load(5, 0, 1, 5);
    EXPECT_EQ(walked(), (Keys{4, 3, 2, 1, 0}));
    EXPECT_EQ(walked(2), (Keys{4, 3}));
    EXPECT_EQ(walked(0), Keys{});
    order = {2, 0, 0, 0};
    EXPECT_EQ(walked(), (Keys{4, 3, 2, 1, 0}));
    order = {2, 1, 0, 0};
    EXPECT_EQ(walked(), (Keys{0, 1, 2, 3, 4}));
    EXPECT_EQ(error(), "");
}

TEST_F(Foreach, OfASliceSeesItsElementsOnly) {
    load(25);
    const djs_value slice[] = {number(3), number(0)};
    order.fixed = 1;
    EXPECT_EQ(walked(-1, slice), (Keys{3, 13, 23}));
    EXPECT_EQ(walked(2, slice), (Keys{3, 13}));
}

TEST_F(Foreach, OfASliceIsSortedToo) {
    load(25, 0, 1, 25);
    const djs_value slice[] = {number(3), number(0)};
    order.fixed = 1;
    EXPECT_EQ(walked(-1, slice), (Keys{23, 13, 3}));
}

// Functions that the body calls may delete elements, but add none.
TEST_F(Foreach, SkipsWhatIsDeletedBeforeItsTurn) {
    for (const s32 sort_key : {-1, 2}) {
        load(10, sort_key, 1, 10);
        djs_foreach foreach{};
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        std::vector<s64> seen;
        while (const u32 element = djs_foreach_next(&context, &foreach)) {
            const s64 at = djs_map_key(*map(), element, 1).number;
            seen.push_back(at);
            for (const s64 i : {at, at + 1, at + 2}) {
                const djs_value keys[] = {number(i % 10), number(i)};
                djs_map_erase(*map(), keys);
            }
        }
        EXPECT_EQ(seen, (std::vector<s64>{0, 3, 6, 9})) << sort_key;
        EXPECT_EQ(count(), 0u);
        djs_user_unload();
    }
}

TEST_F(Foreach, EndsWhereTheArrayIsDeleted) {
    for (const s32 sort_key : {-1, 2}) {
        load(10, sort_key, 1, 10);
        djs_foreach foreach{};
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        EXPECT_NE(djs_foreach_next(&context, &foreach), 0u);
        *map() = djs_map_clear(*map());
        EXPECT_EQ(djs_foreach_next(&context, &foreach), 0u) << sort_key;
        djs_user_unload();
    }
}

TEST_F(Foreach, ThatBeganAnewInItsOwnBodyIsAnError) {
    load(5, 0, 1, 5);
    djs_foreach first{}, second{};
    djs_foreach_begin(&context, &first, iterator, nullptr, -1, 7);
    EXPECT_NE(djs_foreach_next(&context, &first), 0u);
    djs_foreach_begin(&context, &second, iterator, nullptr, -1, 8);
    EXPECT_EQ(rest_of(second).size(), 5u);
    EXPECT_EQ(djs_foreach_next(&context, &first), 0u);
    EXPECT_EQ(context.error_place, 7u);
    EXPECT_EQ(error(),
              "this foreach was entered again from its own body, but can keep only one order");
}

TEST_F(Foreach, WithoutAnOrderMayBeginAnew) {
    load(5);
    djs_foreach first{};
    djs_foreach_begin(&context, &first, iterator, nullptr, -1, 7);
    EXPECT_NE(djs_foreach_next(&context, &first), 0u);
    EXPECT_EQ(walked().size(), 5u);
    EXPECT_EQ(rest_of(first), (Keys{1, 2, 3, 4}));
    EXPECT_EQ(error(), "");
}

TEST_F(Foreach, SortsNoMoreThanFitsWithInterruptsOff) {
    load(DJS_SORTED_AT_ONCE, 0, 1, 200'000);
    EXPECT_EQ(walked().size(), size_t{DJS_SORTED_AT_ONCE});
    EXPECT_EQ(error(), "");
    djs_user_unload();
    load(DJS_SORTED_AT_ONCE + 1, 0, 1, 200'000);
    EXPECT_EQ(walked(), Keys{});
    EXPECT_EQ(error(), "cannot sort more than 16384 elements with interrupts disabled: use a limit "
                       "of 256 or less, a timer or an end probe");
    EXPECT_EQ(walked(256).size(), 256u);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(walked(257), Keys{});
    EXPECT_NE(error(), "");
}

// Each may be better than all before it, and take the place of the worst one.
TEST_F(Foreach, SelectsManyOfFewerElementsThanFew) {
    load(DJS_WALKED_AT_ONCE / 2 + 1, 0, 1, 256);
    EXPECT_EQ(walked(16), Keys{});
    EXPECT_EQ(error(), "cannot iterate over more than 262144" + too_many_walked);
    EXPECT_EQ(walked(15).size(), 15u);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(walked(15), Keys{}) << "once in a run";
    EXPECT_EQ(error(), "cannot iterate over more than 524288" + too_many_walked);
}

TEST_F(ForeachOfStatistics, CountAsTwo) {
    load_empty(0, 1, 256);
    for (s64 i = 0; i < 180'000; i++) {
        const djs_value keys[] = {number(i)};
        djs_map_insert(*map(), keys);
    }
    EXPECT_EQ(walked(256), Keys{});
    EXPECT_EQ(error(), "cannot iterate over more than 174762" + too_many_walked);
    djs_foreach foreach{};
    djs_foreach_begin(&context, &foreach, iterator, nullptr, 10, 7);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(context.walked, 360'000u);
}

TEST_F(Foreach, AllWalksOfARunTogetherHaveTheirBound) {
    load(10, 0, 1, 10);
    context.walked = DJS_WALKED_AT_ONCE - 10;
    EXPECT_EQ(walked().size(), 10u);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(walked(), Keys{});
    EXPECT_EQ(error(), "cannot iterate over more than 524288" + too_many_walked);
    EXPECT_EQ(walked(), Keys{}) << "nor any later one";
    EXPECT_EQ(error(), "cannot iterate over more than 524288" + too_many_walked);
    context.walked = 0;
    EXPECT_EQ(walked().size(), 10u);
}

TEST_F(Foreach, SlicesAreFoundAndDeleted) {
    load(25);
    const djs_value three[] = {number(3), number(0)}, nine[] = {number(99), number(0)};
    const djs_value last[] = {number(0), number(24)};
    EXPECT_EQ(djs_has_slice(&context, 0, three, 1, 5), 1u);
    EXPECT_EQ(djs_has_slice(&context, 0, nine, 1, 5), 0u);
    EXPECT_EQ(djs_has_slice(&context, 0, last, 2, 5), 1u);
    djs_erase_slice(&context, 0, three, 1, 5);
    EXPECT_EQ(count(), 22u);
    EXPECT_EQ(djs_has_slice(&context, 0, three, 1, 5), 0u);
    djs_erase_slice(&context, 0, nine, 1, 5);
    EXPECT_EQ(count(), 22u);
    djs_erase_slice(&context, 0, last, 2, 5);
    EXPECT_EQ(count(), 21u);
    EXPECT_EQ(error(), "");
}

TEST_F(Foreach, ASliceIsDeletedWholeOrNotAtAll) {
    const djs_value three[] = {number(3), number(0)};
    load(DJS_SLICED_AT_ONCE + 1);
    djs_erase_slice(&context, 0, three, 1, 5);
    EXPECT_EQ(context.error_place, 5u);
    EXPECT_EQ(error(), "cannot iterate over more than 131072" + too_many_walked);
    EXPECT_EQ(count(), DJS_SLICED_AT_ONCE + 1);
    djs_user_unload();
    load(DJS_SLICED_AT_ONCE);
    djs_erase_slice(&context, 0, three, 1, 5);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(count(), DJS_SLICED_AT_ONCE - 13107u);
}

TEST_F(Foreach, SlicesThatAreDeletedCountAsMoreThanLookedAt) {
    const djs_value none[] = {number(10), number(0)};
    load(DJS_SLICED_AT_ONCE);
    for (int turn = 0; turn < 2; turn++)
        djs_erase_slice(&context, 0, none, 1, 5);
    EXPECT_EQ(error(), "");
    djs_erase_slice(&context, 0, none, 1, 5);
    EXPECT_EQ(error(), "cannot iterate over more than 262144" + too_many_walked);
    context.walked = 0;
    for (int turn = 0; turn < 4; turn++)
        djs_has_slice(&context, 0, none, 1, 5);
    EXPECT_EQ(error(), "");
}

// Each element is better than all before, and takes the place of the worst one.
TEST_F(ForeachOfPaths, ComparesWithALimitNoMoreThanFitsWithInterruptsOff) {
    const auto refusal = [](u32 elements) {
        return "cannot sort more than " + std::to_string(elements) +
               " elements by strings of 511 bytes with interrupts disabled: use a smaller limit, "
               "shorter strings (MAXSTRINGLEN), a timer or an end probe";
    };
    constexpr u32 of_256 = 7598, of_10 = 18078;
    load(of_256, 0, 256);
    const std::vector<s64> best = values(256);
    ASSERT_EQ(best.size(), 256u);
    EXPECT_EQ(best.front(), of_256 - 1);
    EXPECT_EQ(best.back(), of_256 - 256);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(values(256), Keys{}) << "once in a run";
    EXPECT_EQ(error(), refusal(of_256));
    djs_user_unload();
    context.walked = 0;
    load(of_256 + 1, 0, 256);
    EXPECT_EQ(values(256), Keys{});
    EXPECT_EQ(context.error_place, 7u);
    EXPECT_EQ(error(), refusal(of_256));
    context.walked = 0;
    EXPECT_EQ(values(10).size(), 10u) << "fewer are compared with fewer";
    EXPECT_EQ(error(), "");
    EXPECT_EQ(values(10).size(), 10u);
    EXPECT_EQ(values(10), Keys{});
    EXPECT_EQ(error(), refusal(of_10));
}

TEST_F(ForeachOfPaths, SortsThemAFewTimes) {
    load(DJS_TEXTS_SORTED_AT_ONCE, 1, DJS_TEXTS_SORTED_AT_ONCE);
    int sorted = 0;
    while (sorted < 100 && values(1000).size() == 1000)
        sorted++;
    EXPECT_EQ(sorted, 3);
    EXPECT_NE(error(), "");
}

TEST_F(ForeachOfLongTexts, ComparesFewerOfThem) {
    load(600, 0, 600);
    EXPECT_EQ(values(256), Keys{});
    EXPECT_EQ(error(),
              "cannot sort more than 481 elements by strings of 8191 bytes with interrupts "
              "disabled: use a smaller limit, shorter strings (MAXSTRINGLEN), a timer or an end "
              "probe");
    context.walked = 0;
    EXPECT_EQ(values(-1).size(), 387u) << "each turn compares as many strings as the heap is deep";
    EXPECT_NE(error(), "");
}

// While a timer sorts by string values, which may change, it keeps its locks, too.
TEST_F(ForeachOfTextValues, ComparesNoMoreOfThemInATimer) {
    load_empty(0, 1, 256);
    for (s64 i = 0; i < 8000; i++) {
        const djs_value keys[] = {number(i)};
        std::strcpy(static_cast<char*>(djs_map_insert(*map(), keys)), "the same");
    }
    context.rests = DJS_RESTS_SHARED;
    djs_foreach foreach{};
    djs_foreach_begin(&context, &foreach, iterator, nullptr, 256, 7);
    EXPECT_EQ(error().substr(0, 39), "cannot sort more than 7598 elements by ");
}

// One that may rest has no bound but its room; of what exceeds that, the best are found.
TEST_F(Foreach, ThatMayRestSortsAsManyAsItHasRoomFor) {
    constexpr u32 elements = DJS_SORTED_AT_ONCE + 100, room = DJS_SORTED_AT_ONCE + 50;
    for (const u32 rests : {DJS_RESTS_ALONE, DJS_RESTS_SHARED}) {
        context.rests = rests;
        load(elements, 0, 1, elements);
        const Keys all = walked();
        ASSERT_EQ(all.size(), size_t{elements});
        EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
        EXPECT_EQ(walked(1000).size(), 1000u);
        EXPECT_EQ(error(), "");
        djs_user_unload();
        load(elements, 0, 1, room);
        EXPECT_EQ(walked().size(), size_t{room});
        const Keys best = walked(1000);
        ASSERT_EQ(best.size(), 1000u);
        EXPECT_EQ(best.front(), s64{elements} - 1);
        EXPECT_EQ(best.back(), s64{elements} - 1000);
        EXPECT_EQ(error(), "");
        EXPECT_EQ(context.walked, 0u);
        djs_user_unload();
    }
}

TEST_F(Foreach, ThatMayRestFindsAndDeletesAnySlice) {
    const djs_value three[] = {number(3), number(0)}, none[] = {number(99), number(0)};
    for (const u32 rests : {DJS_RESTS_ALONE, DJS_RESTS_SHARED}) {
        context.rests = rests;
        load(DJS_SLICED_AT_ONCE + 10);
        EXPECT_EQ(djs_has_slice(&context, 0, none, 1, 5), 0u);
        EXPECT_EQ(djs_has_slice(&context, 0, three, 1, 5), 1u);
        EXPECT_EQ((*map())->walks, nullptr);
        djs_erase_slice(&context, 0, three, 1, 5);
        EXPECT_EQ(count(), DJS_SLICED_AT_ONCE + 10 - 13108u);
        EXPECT_EQ(djs_has_slice(&context, 0, three, 1, 5), 0u);
        EXPECT_EQ(error(), "");
        EXPECT_EQ((*map())->walks, nullptr);
        djs_user_unload();
    }
}

// Where others may run meanwhile, the array knows the walk until it ends, begins anew, or the
// handler ends.
TEST_F(Foreach, IsKnownToItsArrayWhileOthersMayRun) {
    for (const s32 sort_key : {-1, 2}) {
        load(10, sort_key, 1, 10);
        djs_foreach foreach{};
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        EXPECT_EQ((*map())->walks, nullptr) << "nobody else runs";
        context.rests = DJS_RESTS_SHARED;
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        ASSERT_NE((*map())->walks, nullptr);
        EXPECT_EQ((*map())->walks->next, nullptr);
        EXPECT_NE(djs_foreach_next(&context, &foreach), 0u);
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        ASSERT_NE((*map())->walks, nullptr);
        EXPECT_EQ((*map())->walks->next, nullptr) << "it left the former one by break";
        // What is deleted is not visited, and the place of an element that is added is its own.
        EXPECT_NE(djs_foreach_next(&context, &foreach), 0u);
        for (const s64 i : {0, 1, 5}) {
            const djs_value keys[] = {number(i % 10), number(i)};
            EXPECT_EQ(djs_map_erase(*map(), keys), 1);
        }
        EXPECT_EQ(rest_of(foreach), (Keys{2, 3, 4, 6, 7, 8, 9})) << sort_key;
        EXPECT_EQ((*map())->walks, nullptr) << "it has ended";
        djs_foreach_begin(&context, &foreach, iterator, nullptr, 0, 7);
        EXPECT_EQ((*map())->walks, nullptr) << "nothing is to be visited";
        djs_foreach_begin(&context, &foreach, iterator, nullptr, -1, 7);
        EXPECT_NE((*map())->walks, nullptr);
        djs_end_walks();
        EXPECT_EQ((*map())->walks, nullptr);
        EXPECT_EQ(error(), "");
        djs_user_unload();
        context.rests = DJS_RESTS_NEVER;
    }
}

TEST_F(ForeachOfPaths, LookedForInASlice) {
    load(7000, 1, 0);
    const djs_value none[] = {text("none")};
    int turns = 0;
    while (turns < 100 && !context.error) {
        djs_has_slice(&context, 0, none, 1, 5);
        turns++;
    }
    EXPECT_EQ(turns, 15) << "14 times 7,000 of them, each of which counts as five";
    EXPECT_EQ(error(), "cannot iterate over more than 104857" + too_many_walked);
}
