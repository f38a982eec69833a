// SPDX-License-Identifier: GPL-2.0-or-later
// The length of a map's searches, with deliberately chosen keys.
#include "maps.h"

#include "map/layout.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>

namespace {

// How many elements a search passes before it finds its own: the maximum over all elements, and the
// sum.
struct Ways {
    u64 longest = 0, sum = 0;
    void add(u64 way) {
        longest = std::max(longest, way);
        sum += way;
    }
};

Ways ways_to_slots(const Map& map) {
    const djs_map& table = *map.map;
    Ways ways;
    for (u32 number = entry_at(&table, 0)->after; number;
         number = entry_at(&table, number)->after) {
        const s64 key = djs_map_key(&table, number, 0).number;
        slot_walk walk = first_slot(&table, key);
        while (key != -1 && walk.slot != entry_at(&table, number)->place)
            if (!next_slot(&table, &walk))
                break;
        ways.add(walk.turn);
    }
    return ways;
}

Ways ways_in_buckets(const Map& map) {
    const djs_map& table = *map.map;
    Ways ways;
    for (u64 bucket = 0; bucket < u64{1} << (32 - table.front.shift); bucket++) {
        u64 way = 0;
        for (u32 number = buckets(&table)[bucket]; number; number = entry_at(&table, number)->chain)
            ways.add(way++);
    }
    return ways;
}

// Returns the multiplicative inverse of `factor` (odd): a hash that only multiplies by `factor`
// maps its multiples to adjacent values.
u64 inverse_of(u64 factor) {
    u64 inverse = factor;
    for (int bits = 3; bits < 64; bits *= 2)
        inverse *= 2 - factor * inverse;
    return inverse;
}

// Sets of keys as they occur in kernels, and as chosen by an attacker who knows all of the hash but
// its seed.
std::vector<std::pair<std::string, std::vector<s64>>> sets_of_keys(u32 count) {
    std::vector<std::pair<std::string, std::vector<s64>>> sets;
    auto multiples = [&](const std::string& name, u64 first, u64 step) {
        auto& keys = sets.emplace_back(name, std::vector<s64>()).second;
        for (u64 i = 0; i < count; i++)
            keys.push_back(static_cast<s64>(first + i * step));
    };
    multiples("process numbers", 1, 1);
    multiples("pages", 0xffff888000000000, 4096);
    multiples("objects of 192 bytes", 0xffff888000000000, 192);
    multiples("high halves", 0, u64{1} << 32);
    multiples("top bytes", 0, u64{1} << 46);
    multiples("golden ratio's inverse", 0, inverse_of(DJS_MAP_FACTOR));
    multiples("the same, negative", 0, -inverse_of(DJS_MAP_FACTOR));
    multiples("golden ratio", 0, DJS_MAP_FACTOR);
    auto& crossed = sets.emplace_back("golden ratio's inverse, by bits", std::vector<s64>()).second;
    auto& reversed = sets.emplace_back("bits reversed", std::vector<s64>()).second;
    auto& mirrored = sets.emplace_back("both ends", std::vector<s64>()).second;
    for (u64 i = 0; i < count; i++) {
        crossed.push_back(static_cast<s64>(i * inverse_of(DJS_MAP_FACTOR) ^ i << 40));
        u64 bits = 0;
        for (int bit = 0; bit < 64; bit++)
            bits |= (i >> bit & 1) << (63 - bit);
        reversed.push_back(static_cast<s64>(bits));
        mirrored.push_back(static_cast<s64>(i | ~i << 48));
    }
    return sets;
}

} // namespace

// The lengths are random, whatever the keys and the seed: with this number of elements, one of
// these tests fails by chance less often than once in 10^9.
TEST(Map, ChainsStayShortWhateverTheKeysAndTheSeed) {
    constexpr u32 capacity = 1 << 12;
    std::mt19937_64 random(4);
    for (int round = 0; round < 24; round++) {
        const u64 seed = round < 2 ? static_cast<u64>(round) : random();
        Map slots(shape_of({DJS_LONG}, DJS_LONG, capacity), seed);
        Map by_long(shape_of({DJS_LONG}, DJS_STATISTIC, capacity), seed);
        Map by_two(shape_of({DJS_LONG, DJS_LONG}, DJS_LONG, capacity), seed);
        Map by_text(shape_of({DJS_STRING}, DJS_LONG, capacity), seed);
        for (const auto& [name, set] : sets_of_keys(capacity)) {
            SCOPED_TRACE(name + ", seed " + std::to_string(seed));
            for (Map* map : {&slots, &by_long, &by_two, &by_text})
                map->map = djs_map_clear(map->map);
            for (const s64 key : set) {
                ASSERT_NE(djs_map_insert_slot(slots.map, key), nullptr);
                ASSERT_NE(djs_map_insert_long(by_long.map, key), nullptr);
                const djs_value first[] = {number(key), number(7)};
                const djs_value last[] = {number(7), number(key)};
                ASSERT_NE(djs_map_insert(by_two.map, djs_map_count(by_two.map) % 2 ? first : last),
                          nullptr);
                // The eight bytes of the key, none of them 0, are followed by a second word.
                char bytes[12];
                for (int i = 0; i < 8; i++)
                    bytes[i] = static_cast<char>((static_cast<u64>(key) >> 8 * i) | 1);
                std::strcpy(bytes + 8, "end");
                const djs_value as_text[] = {text(bytes)};
                ASSERT_NE(djs_map_insert(by_text.map, as_text), nullptr);
            }
            ASSERT_EQ(djs_map_count(slots.map), capacity);
            const Ways in_slots = ways_to_slots(slots);
            EXPECT_LE(in_slots.longest, 60u);
            EXPECT_LE(in_slots.sum, 2 * u64{capacity});
            for (const Map* map : {&by_long, &by_two, &by_text}) {
                const Ways in_buckets = ways_in_buckets(*map);
                EXPECT_LE(in_buckets.longest, 16u);
                EXPECT_LE(in_buckets.sum, u64{capacity});
            }
        }
    }
}

// Removed elements do not lengthen any search.
TEST(Map, ManyRoundsOfInsertAndEraseKeepChainsShort) {
    constexpr u32 capacity = 1 << 12;
    for (const u8 value : {DJS_LONG, DJS_STATISTIC}) {
        Map map(shape_of({DJS_LONG}, value, capacity));
        auto* const insert = value == DJS_LONG ? djs_map_insert_slot : djs_map_insert_long;
        for (int round = 0; round < 3; round++)
            for (const auto& [name, set] : sets_of_keys(capacity)) {
                SCOPED_TRACE(name);
                for (const s64 key : set)
                    ASSERT_NE(insert(map.map, key), nullptr);
                const Ways ways = value == DJS_LONG ? ways_to_slots(map) : ways_in_buckets(map);
                EXPECT_LE(ways.longest, value == DJS_LONG ? 60u : 16u);
                for (const s64 key : set) {
                    const djs_value keys[] = {number(key)};
                    ASSERT_EQ(djs_map_erase(map.map, keys), 1);
                }
                ASSERT_EQ(djs_map_count(map.map), 0u);
                if (value == DJS_STATISTIC)
                    continue;
                for (u64 slot = 0; slot <= map.map->front.slot_count; slot++)
                    ASSERT_EQ(map.map->uses[slot].passed, 0) << slot;
            }
    }
}
