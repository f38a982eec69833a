// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the map with models from the standard library, under random operations.
#include "maps.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

// Lists the elements like a foreach, `steps` elements at a time.
std::vector<u32> list(Map& map, const djs_map_order& order, u32 capacity, s64 limit = -1,
                      const djs_value* slice = nullptr, u32 steps = 100) {
    const u32 count = djs_map_count(map.map);
    const u32 wanted = limit >= 0 && limit < count ? static_cast<u32>(limit) : count;
    std::vector<u32> out;
    std::vector<djs_rank> ranks(capacity);
    djs_ranking ranking{};
    ranking.ranks = ranks.data();
    ranking.room = capacity;
    if (wanted == 0)
        return out;
    djs_ranking_begin(map.map, &ranking, wanted < count ? wanted : DJS_MAP_MORE);
    if (order.key >= 0)
        while (djs_ranking_step(map.map, &ranking, &order, slice, steps) == DJS_RANKING_MORE)
            ;
    while (out.size() < wanted) {
        u32 left = steps;
        const u32 next = order.key >= 0
                             ? djs_ranking_first(map.map, &ranking, &order, &left)
                             : djs_map_next(map.map, &ranking.walk, slice, order.fixed, &left);
        if (next == 0)
            break;
        if (next != DJS_MAP_MORE)
            out.push_back(next);
    }
    return out;
}

std::vector<s64> long_keys(Map& map, const std::vector<u32>& numbers) {
    std::vector<s64> keys;
    for (u32 n : numbers)
        keys.push_back(djs_map_key(map.map, n, 0).number);
    return keys;
}

constexpr djs_map_order as_inserted{-1, 0, 0, 0};

} // namespace

// Arrays of longs by one long have slots; those of other values by one long have buckets.
class LongKeys : public testing::TestWithParam<u8> {};
INSTANTIATE_TEST_SUITE_P(Map, LongKeys, testing::Values(DJS_LONG, DJS_STATISTIC),
                         [](const auto& info) {
                             return std::string(info.param == DJS_LONG ? "Longs" : "Statistics");
                         });

TEST_P(LongKeys, BehaveLikeAModelUnderRandomOperations) {
    auto* const find_long = GetParam() == DJS_LONG ? djs_map_find_slot : djs_map_find_long;
    auto* const insert_long = GetParam() == DJS_LONG ? djs_map_insert_slot : djs_map_insert_long;
    for (u32 capacity : {1u, 2u, 3u, 64u, 1000u}) {
        for (bool wrap : {false, true}) {
            Map map(shape_of({DJS_LONG}, GetParam(), capacity, wrap), capacity);
            std::list<std::pair<s64, s64>> model; // as inserted
            std::mt19937_64 random(capacity * 2 + wrap);
            const auto find = [&](s64 key) {
                return std::find_if(model.begin(), model.end(),
                                    [&](auto& e) { return e.first == key; });
            };
            for (int step = 0; step < 20000; step++) {
                // -1, 0 and the extremes among them
                const s64 key = (static_cast<s64>(random() % (capacity * 3 + 2)) - 1) *
                                (random() % 2 ? 1 : INT64_MIN / 4096);
                const djs_value keys[] = {number(key)};
                const auto at = find(key);
                switch (random() % 8) {
                case 0:
                    EXPECT_EQ(djs_map_erase(map.map, keys), at != model.end());
                    if (at != model.end())
                        model.erase(at);
                    break;
                case 1: {
                    auto* found = static_cast<s64*>(random() % 2 ? find_long(map.map, key)
                                                                 : djs_map_find(map.map, keys));
                    ASSERT_EQ(found != nullptr, at != model.end());
                    if (found) {
                        EXPECT_EQ(*found, at->second);
                    }
                    break;
                }
                case 2:
                    if (step % 997 == 0) {
                        map.map = djs_map_clear(map.map);
                        model.clear();
                    }
                    break;
                default: {
                    auto* value = static_cast<s64*>(random() % 2 ? insert_long(map.map, key)
                                                                 : djs_map_insert(map.map, keys));
                    if (at != model.end()) {
                        ASSERT_NE(value, nullptr);
                        EXPECT_EQ(*value, at->second);
                        at->second = *value = step;
                    } else if (model.size() == capacity && !wrap) {
                        EXPECT_EQ(value, nullptr);
                    } else {
                        ASSERT_NE(value, nullptr);
                        EXPECT_EQ(*value, 0);
                        *value = step;
                        if (model.size() == capacity)
                            model.pop_front();
                        model.emplace_back(key, step);
                    }
                }
                }
                ASSERT_EQ(djs_map_count(map.map), model.size());
            }
            std::vector<s64> expected;
            for (auto& entry : model)
                expected.push_back(entry.first);
            EXPECT_EQ(long_keys(map, list(map, as_inserted, capacity)), expected);
        }
    }
}

TEST(Map, MixedKeysAndStringValuesBehaveLikeStdMap) {
    constexpr u32 capacity = 500;
    Map map(shape_of({DJS_STRING, DJS_LONG, DJS_STRING}, DJS_STRING, capacity));
    std::map<std::tuple<std::string, s64, std::string>, std::string> model;
    std::mt19937_64 random(3);
    for (int step = 0; step < 50000; step++) {
        std::string a(random() % 18, static_cast<char>('a' + random() % 2)), b(random() % 4, 'b');
        const s64 middle = static_cast<s64>(random() % 5);
        const djs_value keys[] = {text(a.c_str()), number(middle), text(b.c_str())};
        const auto key = std::make_tuple(a, middle, b);
        if (random() % 3 == 0) {
            EXPECT_EQ(djs_map_erase(map.map, keys), static_cast<int>(model.erase(key)));
            continue;
        }
        if (model.size() == capacity && !model.count(key)) {
            EXPECT_EQ(djs_map_insert(map.map, keys), nullptr);
            continue;
        }
        auto* value = static_cast<char*>(djs_map_insert(map.map, keys));
        ASSERT_NE(value, nullptr);
        EXPECT_EQ(std::string(value), model[key]);
        model[key] = std::to_string(step);
        std::strcpy(value, model[key].c_str());
    }
    ASSERT_GT(model.size(), 100u);
    for (u32 n : list(map, as_inserted, capacity)) {
        const auto key = std::make_tuple(std::string(djs_map_key(map.map, n, 0).text),
                                         djs_map_key(map.map, n, 1).number,
                                         std::string(djs_map_key(map.map, n, 2).text));
        ASSERT_TRUE(model.count(key));
        EXPECT_EQ(model[key], static_cast<char*>(djs_map_value(map.map, n)));
    }
}

TEST(Map, StacksAsKeysBehaveLikeStdMap) {
    constexpr u32 capacity = 300;
    for (const bool beside : {false, true}) { // with a string and a number, or alone
        Map map(beside ? shape_of({DJS_STRING, DJS_STACK, DJS_LONG}, DJS_LONG, capacity)
                       : shape_of({DJS_STACK}, DJS_LONG, capacity));
        std::map<std::pair<std::vector<u64>, s64>, s64> model;
        std::mt19937_64 random(5);
        for (int step = 0; step < 50000; step++) {
            std::vector<u64> words(1 + random() % 5);
            words[0] = words.size() - 1;
            for (size_t i = 1; i < words.size(); i++)
                words[i] = random() % 4 ? 0xffffffff81000000 + random() % 3 : 0;
            const s64 last = beside ? static_cast<s64>(random() % 2) : 0;
            // What follows a stack in the caller's memory is no part of it.
            std::vector<u64> memory = words;
            memory.push_back(random());
            const djs_value all[] = {text("k"), stack(memory), number(last)};
            const djs_value* keys = beside ? all : all + 1;
            const auto key = std::make_pair(words, last);
            if (random() % 3 == 0) {
                EXPECT_EQ(djs_map_erase(map.map, keys), static_cast<int>(model.erase(key)));
                continue;
            }
            auto* found = static_cast<s64*>(djs_map_find(map.map, keys));
            EXPECT_EQ(found != nullptr, model.count(key) == 1);
            if (model.size() == capacity && !model.count(key)) {
                EXPECT_EQ(djs_map_insert(map.map, keys), nullptr);
                continue;
            }
            auto* value = static_cast<s64*>(djs_map_insert(map.map, keys));
            ASSERT_NE(value, nullptr);
            EXPECT_EQ(*value, model[key]);
            *value = model[key] = step;
            ASSERT_EQ(djs_map_count(map.map), model.size());
        }
        ASSERT_GT(model.size(), 50u);
        for (u32 n : list(map, as_inserted, capacity)) {
            const u64* stored = djs_map_key(map.map, n, beside ? 1 : 0).stack;
            const auto key = std::make_pair(std::vector<u64>(stored, stored + 1 + stored[0]),
                                            beside ? djs_map_key(map.map, n, 2).number : 0);
            ASSERT_TRUE(model.count(key));
            EXPECT_EQ(model[key], *static_cast<s64*>(djs_map_value(map.map, n)));
        }
    }
}

TEST(Map, StacksOfTheLongestLengthAndNone) {
    Map map(shape_of({DJS_STACK}, DJS_LONG, 2));
    const std::vector<u64> longest{4, 1, 2, 3, 4}, longer{9, 1, 2, 3, 4}, empty{0};
    const djs_value keys[] = {stack(longest), stack(longer), stack(empty)};
    void* value = djs_map_insert(map.map, &keys[0]);
    // An entry has no room for more addresses, and none is read.
    EXPECT_EQ(djs_map_insert(map.map, &keys[1]), value);
    value = djs_map_insert(map.map, &keys[2]);
    djs_value none{};
    EXPECT_EQ(djs_map_find(map.map, &none), value);
    EXPECT_EQ(djs_map_insert(map.map, &none), value);
    EXPECT_EQ(djs_map_count(map.map), 2u);
}

TEST(Map, StacksAreNoValues) {
    const djs_map_shape as_value = shape_of({DJS_LONG}, DJS_STACK, 2);
    djs_map_shape without_size = shape_of({DJS_STACK}, DJS_LONG, 2);
    without_size.stack_words = 0;
    EXPECT_EQ(djs_map_bytes(&as_value), 0u);
    EXPECT_EQ(djs_map_bytes(&without_size), 0u);
}

TEST(Map, KeysEqualUpToTheLongestString) {
    Map map(shape_of({DJS_STRING}, DJS_LONG, 8));
    const djs_value longer[] = {text("0123456789012345678XY")},
                    longest[] = {text("0123456789012345678")}, null[] = {text(nullptr)},
                    empty[] = {text("")};
    *static_cast<s64*>(djs_map_insert(map.map, longer)) = 5;
    EXPECT_EQ(djs_map_insert(map.map, longest), djs_map_find(map.map, longer));
    const void* inserted = djs_map_insert(map.map, null);
    EXPECT_EQ(inserted, djs_map_find(map.map, empty));
    EXPECT_EQ(djs_map_count(map.map), 2u);
}

TEST(Map, SortsStablyByValueAndKeys) {
    constexpr u32 capacity = 3000;
    Map map(shape_of({DJS_LONG, DJS_STRING}, DJS_LONG, capacity));
    struct Row {
        s64 key;
        std::string name;
        s64 value;
    };
    std::vector<Row> rows;
    std::mt19937_64 random(11);
    for (u32 i = 0; i < capacity; i++) {
        Row row{static_cast<s64>(i * 7919 % capacity) - 1000,
                std::string(1, static_cast<char>('a' + random() % 26)),
                static_cast<s64>(random() % 50) - 25};
        const djs_value keys[] = {number(row.key), text(row.name.c_str())};
        *static_cast<s64*>(djs_map_insert(map.map, keys)) = row.value;
        rows.push_back(row);
    }
    for (s32 key : {0, 1, 2}) {
        for (u32 ascending : {0u, 1u}) {
            for (s64 limit : {-1LL, 0LL, 1LL, 2LL, 10LL, 257LL, 2999LL, 5000LL}) {
                const djs_map_order order{key, ascending, 0, 0};
                auto expected = rows;
                std::stable_sort(expected.begin(), expected.end(), [&](const Row& a, const Row& b) {
                    const Row &x = ascending ? a : b, &y = ascending ? b : a;
                    return key == 0   ? x.value < y.value
                           : key == 1 ? x.key < y.key
                                      : x.name < y.name;
                });
                if (limit >= 0 && static_cast<size_t>(limit) < expected.size())
                    expected.resize(static_cast<size_t>(limit));
                std::vector<s64> keys;
                for (auto& row : expected)
                    keys.push_back(row.key);
                EXPECT_EQ(long_keys(map, list(map, order, capacity, limit)), keys)
                    << "key " << key << " ascending " << ascending << " limit " << limit;
            }
        }
    }
}

TEST(Map, SlicesSelectByAnyFixedKeys) {
    constexpr u32 capacity = 100;
    Map map(shape_of({DJS_LONG, DJS_STRING}, DJS_LONG, capacity));
    for (int i = 0; i < 100; i++) {
        const std::string name = std::string("n").append(std::to_string(i % 3));
        const djs_value keys[] = {number(i), text(name.c_str())};
        *static_cast<s64*>(djs_map_insert(map.map, keys)) = i;
    }
    const djs_value slice[] = {number(0), text("n1")}, none[] = {number(4), text("n0")};
    const djs_map_order order{0, 0, 0, 0b10};
    EXPECT_EQ(long_keys(map, list(map, order, capacity, 3, slice)), (std::vector<s64>{97, 94, 91}));
    EXPECT_EQ(list(map, {-1, 0, 0, 0b10}, capacity, -1, slice).size(), 33u);
    EXPECT_EQ(list(map, {-1, 0, 0, 0b11}, capacity, -1, none).size(), 0u);
    EXPECT_EQ(list(map, {-1, 0, 0, 0b01}, capacity, -1, none).size(), 1u);
    EXPECT_EQ(list(map, {-1, 0, 0, 0}, capacity, -1, none).size(), 100u);
}

// Strings that are read word by word are the same keys as those that are read byte by byte.
TEST(Map, PaddedStringsAreTheSameKeys) {
    constexpr u32 capacity = 400;
    Map map(shape_of({DJS_STRING, DJS_LONG, DJS_STRING}, DJS_LONG, capacity));
    std::vector<void*> values;
    for (s64 i = 0; i < 200; i++) {
        const std::string one(static_cast<size_t>(i % 20), static_cast<char>('a' + i % 7)),
            two(static_cast<size_t>(i / 20), 'z');
        alignas(8) char padded_one[24]{}, padded_two[24]{};
        one.copy(padded_one, one.size());
        two.copy(padded_two, two.size());
        const std::string odd_one = "-" + one, odd_two = "-" + two; // not aligned
        const djs_value plain[] = {text(odd_one.c_str() + 1), number(i), text(odd_two.c_str() + 1)};
        const djs_value padded[] = {text(padded_one), number(i), text(padded_two)};
        EXPECT_EQ(djs_map_find(map.map, padded), nullptr);
        void* inserted = djs_map_insert(map.map, i % 2 ? plain : padded);
        ASSERT_NE(inserted, nullptr);
        EXPECT_EQ(djs_map_find(map.map, plain), inserted);
        EXPECT_EQ(djs_map_find(map.map, padded), inserted);
        EXPECT_EQ(djs_map_insert(map.map, plain), inserted);
        EXPECT_EQ(djs_map_insert(map.map, padded), inserted);
        const djs_value other[] = {text(padded_one), number(i + 1), text(padded_two)};
        EXPECT_EQ(djs_map_find(map.map, other), nullptr);
        values.push_back(inserted);
    }
    EXPECT_EQ(djs_map_count(map.map), 200u);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
}

TEST(Map, StatisticsSortByTheirOperation) {
    auto shape = shape_of({DJS_LONG}, DJS_STATISTIC, 10);
    shape.statistic.variance = 1;
    shape.statistic.bytes = djs_statistic_bytes(&shape.statistic);
    Map map(shape);
    const std::map<s64, std::vector<s64>> values{{1, {1, 2, 3}}, {2, {100}}, {3, {-50, 50}}};
    for (auto& [key, all] : values)
        for (s64 value : all)
            djs_statistic_add(&shape.statistic,
                              static_cast<djs_statistic*>(djs_map_insert_long(map.map, key)),
                              value);
    const auto sorted = [&](u32 op) { return long_keys(map, list(map, {0, 0, op, 0}, 10)); };
    EXPECT_EQ(sorted(DJS_STAT_COUNT), (std::vector<s64>{1, 3, 2}));
    EXPECT_EQ(sorted(DJS_STAT_SUM), (std::vector<s64>{2, 1, 3}));
    EXPECT_EQ(sorted(DJS_STAT_MIN), (std::vector<s64>{2, 1, 3}));
    EXPECT_EQ(sorted(DJS_STAT_MAX), (std::vector<s64>{2, 3, 1}));
    EXPECT_EQ(sorted(DJS_STAT_AVG), (std::vector<s64>{2, 1, 3}));
    EXPECT_EQ(sorted(DJS_STAT_VARIANCE).front(), 3);
}

TEST(Map, RefusesShapesThatDoNotFit) {
    djs_map_shape shape{};
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_LONG}, DJS_LONG, 0);
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_STATISTIC}, DJS_LONG, 5);
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_STRING}, DJS_LONG, 5);
    shape.string_bytes = 0;
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_LONG}, DJS_LONG, 0xffffffffu);
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_LONG}, DJS_STRING, 5);
    shape.string_bytes = 0;
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape.string_bytes = 1;
    EXPECT_GT(djs_map_bytes(&shape), 0u);
    shape.string_bytes = 0xffffffffu;
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of(std::vector<u8>(DJS_MAX_KEYS, DJS_LONG), DJS_LONG, 5);
    EXPECT_GT(djs_map_bytes(&shape), 0u);
    shape.key_count = DJS_MAX_KEYS + 1;
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
    shape = shape_of({DJS_LONG}, DJS_LONG, 1u << 30);
    EXPECT_GT(djs_map_bytes(&shape), u64{1} << 34);
    shape.capacity++;
    EXPECT_EQ(djs_map_bytes(&shape), 0u);
}

// Each of the most keys tells elements apart.
TEST(Map, AsManyKeysAsThereMayBe) {
    Map map(shape_of(std::vector<u8>(DJS_MAX_KEYS, DJS_LONG), DJS_LONG, 2 * DJS_MAX_KEYS));
    for (s64 other = 0; other < DJS_MAX_KEYS; other++) {
        djs_value keys[DJS_MAX_KEYS]{};
        keys[other] = number(7);
        EXPECT_EQ(djs_map_find(map.map, keys), nullptr);
        *static_cast<s64*>(djs_map_insert(map.map, keys)) = other;
        EXPECT_EQ(*static_cast<s64*>(djs_map_find(map.map, keys)), other);
    }
    EXPECT_EQ(djs_map_count(map.map), u32{DJS_MAX_KEYS});
}

// A caller that lists elements by number may find one removed: it then still has its key, and value
// 0.
TEST(Map, KeysOfRemovedElementsStayTillTheirPlaceIsTaken) {
    for (bool all : {false, true}) {
        Map map(shape_of({DJS_LONG}, DJS_LONG, 8));
        for (s64 key : {5, -1, 7})
            *static_cast<s64*>(djs_map_insert_slot(map.map, key)) = 10 * key;
        const auto numbers = list(map, as_inserted, 8);
        const djs_value keys[] = {number(5)}, last[] = {number(-1)};
        if (all) {
            map.map = djs_map_clear(map.map);
        } else {
            EXPECT_EQ(djs_map_erase(map.map, keys), 1);
            EXPECT_EQ(djs_map_erase(map.map, last), 1);
        }
        EXPECT_EQ(long_keys(map, numbers), (std::vector<s64>{5, -1, 7}));
        EXPECT_EQ(*static_cast<s64*>(djs_map_value(map.map, numbers[0])), 0);
        EXPECT_EQ(*static_cast<s64*>(djs_map_value(map.map, numbers[1])), 0);
        EXPECT_EQ(*static_cast<s64*>(djs_map_value(map.map, numbers[2])), all ? 0 : 70);
        EXPECT_EQ(djs_map_find_slot(map.map, 5), nullptr);
        EXPECT_EQ(djs_map_find_slot(map.map, -1), nullptr);
        EXPECT_EQ(djs_map_find_slot(map.map, 7) == nullptr, all);
    }
}

// Strings at any address, with any bytes after their end, are the same key.
TEST(Map, TextsAreTheSameWhereverTheyLie) {
    for (u32 string_bytes : {16u, 17u, 20u, 24u, 128u}) {
        auto shape = shape_of({DJS_STRING, DJS_LONG}, DJS_LONG, 300);
        shape.string_bytes = string_bytes;
        Map map(shape);
        std::mt19937_64 random(string_bytes);
        for (size_t length = 0; length < string_bytes; length++) {
            const std::string name(length, static_cast<char>('a' + length % 26));
            void* value = nullptr;
            for (size_t offset = 0; offset < 16; offset++) {
                alignas(8) char memory[160];
                for (char& byte : memory)
                    byte = static_cast<char>(random());
                std::strcpy(memory + offset, name.c_str());
                const djs_value keys[] = {text(memory + offset), number(3)};
                if (!value)
                    value = djs_map_insert(map.map, keys);
                ASSERT_NE(value, nullptr);
                EXPECT_EQ(djs_map_find(map.map, keys), value) << length << " at " << offset;
            }
        }
        EXPECT_EQ(djs_map_count(map.map), string_bytes);
        for (u32 n : list(map, as_inserted, 300))
            EXPECT_LT(std::strlen(djs_map_key(map.map, n, 0).text), string_bytes);
    }
}
