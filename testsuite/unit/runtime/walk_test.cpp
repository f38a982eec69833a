// SPDX-License-Identifier: GPL-2.0-or-later
// Walks over maps that change concurrently, and maps that are cleared in constant time.
#include "maps.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

// Arrays of numbers by one key: by a number (slots), or by a string (buckets).
class Array {
  public:
    Array(bool texts, u32 capacity, bool wrap, bool clears)
        : texts_(texts), shape_(shape_of({static_cast<u8>(texts ? DJS_STRING : DJS_LONG)}, DJS_LONG,
                                         capacity, wrap)) {
        shape_.clears = clears;
        map_ = std::make_unique<Map>(shape_);
    }
    djs_map*& map() { return map_->map; }
    s64* insert(s64 key) {
        const Key value(key, texts_);
        return static_cast<s64*>(djs_map_insert(map(), &value.key));
    }
    s64* find(s64 key) {
        const Key value(key, texts_);
        return static_cast<s64*>(djs_map_find(map(), &value.key));
    }
    bool erase(s64 key) {
        const Key value(key, texts_);
        return djs_map_erase(map(), &value.key) != 0;
    }
    s64 key(u32 number) {
        const djs_value key = djs_map_key(map(), number, 0);
        return texts_ ? std::stoll(key.text) : key.number;
    }
    s64 value(u32 number) { return *static_cast<s64*>(djs_map_value(map(), number)); }

  private:
    struct Key {
        Key(s64 number, bool texts) {
            std::snprintf(text, sizeof(text), "%012lld", static_cast<long long>(number));
            if (texts)
                key.text = text;
            else
                key.number = number;
        }
        djs_value key{};
        char text[24];
    };
    bool texts_;
    djs_map_shape shape_;
    std::unique_ptr<Map> map_;
};

// A registered ranking with its memory.
struct Ranking {
    Ranking(u32 capacity, u32 room) : ranks(room), removed(capacity / 64 + 1) {
        ranking.ranks = ranks.data();
        ranking.room = room;
        ranking.cuts = 1;
        ranking.walk.removed = removed.data();
    }
    std::vector<djs_rank> ranks;
    std::vector<u64> removed;
    djs_ranking ranking{};
};

} // namespace

class Walks : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Map, Walks, testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "Texts" : "Longs");
});

// What exists all the time is visited once, in order; what was removed is not visited; what was
// added later may be.
TEST_P(Walks, SeeWhatStaysWhileOthersChangeTheMap) {
    constexpr u32 capacity = 600;
    for (u32 round = 0; round < 200; round++) {
        std::mt19937_64 random(round);
        const bool wrap = round % 5 == 0;
        Array array(GetParam(), capacity, wrap, false);
        std::map<s64, s64> begun; // elements of the beginning that still exist
        const u32 size = 200 + random() % 400;
        for (u32 i = 0; i < size; i++) {
            const s64 key = static_cast<s64>(random() % 1000);
            s64* value = array.insert(key);
            ASSERT_NE(value, nullptr);
            *value = begun[key] = static_cast<s64>(random() % 40);
        }
        const s32 sort_key = static_cast<s32>(round % 3) - 1;
        const djs_map_order order{sort_key, static_cast<u32>(random() % 2), 0, 0};
        Ranking ranks(capacity, capacity);
        djs_ranking& ranking = ranks.ranking;
        const u32 limit = round % 4 == 3 ? 1 + static_cast<u32>(random() % 50) : DJS_MAP_MORE;
        djs_ranking_begin(array.map(), &ranking, limit < begun.size() ? limit : DJS_MAP_MORE);
        djs_map_register(array.map(), &ranking.walk);

        std::set<s64> removed;
        const auto change = [&] {
            for (u64 left = random() % 4; left > 0; left--) {
                const s64 key = static_cast<s64>(random() % 1000);
                if (random() % 2 && array.erase(key)) {
                    removed.insert(key);
                    begun.erase(key);
                } else if (!array.find(key) && !wrap) {
                    if (s64* value = array.insert(key))
                        *value = static_cast<s64>(random() % 40);
                } else if (sort_key != 0 && array.find(key) && begun.count(key)) {
                    *array.find(key) = begun[key] = static_cast<s64>(random() % 40);
                }
            }
        };
        if (sort_key >= 0)
            while (djs_ranking_step(array.map(), &ranking, &order, nullptr,
                                    1 + static_cast<u32>(random() % 20)) == DJS_RANKING_MORE)
                change();
        std::vector<std::pair<s64, s64>> seen; // sort key, key
        std::set<s64> keys;
        for (;;) {
            u32 steps = 1 + static_cast<u32>(random() % 20);
            const u32 number = sort_key >= 0
                                   ? djs_ranking_first(array.map(), &ranking, &order, &steps)
                                   : djs_map_next(array.map(), &ranking.walk, nullptr, 0, &steps);
            if (number == 0)
                break;
            if (number != DJS_MAP_MORE) {
                const s64 key = array.key(number);
                ASSERT_NE(array.find(key), nullptr) << "it sees what is not there";
                EXPECT_EQ(array.value(number), *array.find(key));
                if (!removed.count(key)) {
                    EXPECT_TRUE(keys.insert(key).second) << "it sees " << key << " twice";
                }
                if (begun.count(key))
                    seen.emplace_back(sort_key == 0 ? array.value(number) : key, key);
            }
            change();
        }
        djs_map_unregister(array.map(), &ranking.walk);
        if (sort_key >= 0) {
            EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end(), [&](const auto& a, const auto& b) {
                return order.ascending ? a.first < b.first : a.first > b.first;
            }));
        }
        if (limit == DJS_MAP_MORE) {
            for (const auto& [key, value] : begun)
                EXPECT_TRUE(keys.count(key)) << key << " was there all the time";
        }
    }
}

// Selects the best of what stays, although others of the best were removed meanwhile.
TEST_P(Walks, SelectTheBestOfWhatStays) {
    constexpr u32 capacity = 1000, limit = 10;
    Array array(GetParam(), capacity, false, false);
    for (s64 key = 0; key < capacity; key++)
        *array.insert(key) = key;
    Ranking ranks(capacity, limit);
    const djs_map_order order{0, 0, 0, 0};
    djs_ranking_begin(array.map(), &ranks.ranking, limit);
    djs_map_register(array.map(), &ranks.ranking.walk);
    u32 turn = 0;
    // some of those that are the best so far
    while (djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 50) == DJS_RANKING_MORE)
        if (++turn == 5) {
            for (s64 key = 230; key < 248; key++) {
                EXPECT_TRUE(array.erase(key));
            }
        }
    EXPECT_TRUE(array.erase(999));
    std::vector<s64> keys;
    for (u32 number = DJS_MAP_MORE; number != 0;) {
        u32 steps = 100;
        number = djs_ranking_first(array.map(), &ranks.ranking, &order, &steps);
        if (number && number != DJS_MAP_MORE)
            keys.push_back(array.key(number));
    }
    djs_map_unregister(array.map(), &ranks.ranking.walk);
    EXPECT_EQ(keys, (std::vector<s64>{998, 997, 996, 995, 994, 993, 992, 991, 990}));
}

// The worst of the best so far gives its place to one that is worse, once it is removed.
TEST_P(Walks, SelectAnotherInPlaceOfTheRemovedWorst) {
    constexpr u32 limit = 10;
    Array array(GetParam(), 100, false, false);
    for (s64 key = 0; key < 100; key++)
        *array.insert(key) = 1000 - key; // the first ones are the best
    Ranking ranks(100, limit);
    const djs_map_order order{0, 0, 0, 0};
    djs_ranking_begin(array.map(), &ranks.ranking, limit);
    djs_map_register(array.map(), &ranks.ranking.walk);
    ASSERT_EQ(djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 40), DJS_RANKING_MORE);
    for (s64 key = 9; key < 60; key++) // and all that may have been looked at
        EXPECT_TRUE(array.erase(key));
    while (djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 50) == DJS_RANKING_MORE)
        ;
    std::vector<s64> keys;
    for (u32 number = DJS_MAP_MORE; number != 0;) {
        u32 steps = 100;
        number = djs_ranking_first(array.map(), &ranks.ranking, &order, &steps);
        if (number && number != DJS_MAP_MORE)
            keys.push_back(array.key(number));
    }
    djs_map_unregister(array.map(), &ranks.ranking.walk);
    EXPECT_EQ(keys, (std::vector<s64>{0, 1, 2, 3, 4, 5, 6, 7, 8, 60}));
}

TEST_P(Walks, EndWhereTheMapIsCleared) {
    Array array(GetParam(), 10000, false, true);
    for (s64 key = 0; key < 10000; key++)
        *array.insert(key) = key;
    Ranking ranks(10000, 10000);
    const djs_map_order order{0, 0, 0, 0};
    djs_ranking_begin(array.map(), &ranks.ranking, DJS_MAP_MORE);
    djs_map_register(array.map(), &ranks.ranking.walk);
    EXPECT_EQ(djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 100),
              DJS_RANKING_MORE);
    array.map() = djs_map_clear(array.map());
    EXPECT_FALSE(ranks.ranking.walk.registered);
    for (s64 key = 0; key < 5; key++)
        *array.insert(key) = key;
    while (djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 100) == DJS_RANKING_MORE)
        ;
    u32 steps = 100;
    EXPECT_EQ(djs_ranking_first(array.map(), &ranks.ranking, &order, &steps), 0u);
}

// What a walk was told of removals is forgotten with the next one, and nothing behind it.
TEST(Map, WalksBeginWithoutRemovals) {
    constexpr u32 capacity = 5000, words = capacity / 64 + 1;
    Array array(false, capacity, false, false);
    for (s64 key = 1; key <= capacity; key++) // the number of its entry
        *array.insert(key) = key;
    std::vector<u64> removed(words + 1);
    removed[words] = ~u64{0};
    djs_map_walk walk{};
    walk.removed = removed.data();
    djs_map_walk_begin(array.map(), &walk);
    djs_map_register(array.map(), &walk);
    for (const s64 key : {1, 63, 64, 4095, 5000}) {
        EXPECT_TRUE(array.erase(key));
        EXPECT_EQ(removed[static_cast<size_t>(key) / 64] >> key % 64 & 1, 1u) << key;
    }
    EXPECT_EQ(walk.highest, 5000u);
    djs_map_unregister(array.map(), &walk);
    djs_map_walk_begin(array.map(), &walk);
    EXPECT_EQ(removed[words], ~u64{0});
    removed.pop_back();
    EXPECT_EQ(removed, std::vector<u64>(words));
    EXPECT_EQ(walk.highest, 0u);
    // It is not registered any more.
    EXPECT_TRUE(array.erase(2));
    EXPECT_EQ(walk.highest, 0u);
}

// Exceeding the room is reported, unless the rest may be left out.
TEST(Map, RankingsHaveTheRoomTheyHave) {
    Array array(false, 100, false, false);
    for (s64 key = 0; key < 100; key++)
        *array.insert(key) = key;
    const djs_map_order order{0, 0, 0, 0};
    Ranking ranks(100, 50);
    ranks.ranking.cuts = 0;
    djs_ranking_begin(array.map(), &ranks.ranking, DJS_MAP_MORE);
    EXPECT_EQ(djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 1000),
              DJS_RANKING_TOO_MANY);
    ranks.ranking.cuts = 1;
    djs_ranking_begin(array.map(), &ranks.ranking, DJS_MAP_MORE);
    EXPECT_EQ(djs_ranking_step(array.map(), &ranks.ranking, &order, nullptr, 1000),
              DJS_RANKING_DONE);
    u32 steps = 100;
    EXPECT_EQ(array.key(djs_ranking_first(array.map(), &ranks.ranking, &order, &steps)), 49);
}

// Cleared repeatedly, with few and many elements: no old element returns, and none is lost.
TEST_P(Walks, LargeMapsAreClearedLikeSmallOnes) {
    constexpr u32 capacity = 60000;
    Array array(GetParam(), capacity, false, true);
    const djs_map* const first = array.map();
    u32 switches = 0;
    std::mt19937_64 random(4);
    std::set<s64> keys;
    for (u32 round = 0; round < 60; round++) {
        const u32 sizes[] = {10, 3000, 5000, 200, 60000, 4200};
        const u32 size = sizes[random() % 6];
        for (u32 i = 0; i < size; i++) {
            const s64 key = static_cast<s64>(random() % 100000);
            if (keys.size() == capacity && !keys.count(key))
                continue;
            s64* value = array.insert(key);
            ASSERT_NE(value, nullptr);
            EXPECT_EQ(*value, keys.count(key) ? key : 0);
            *value = key;
            keys.insert(key);
            if (random() % 7 == 0 && array.erase(key))
                keys.erase(key);
        }
        ASSERT_EQ(djs_map_count(array.map()), keys.size());
        for (u32 i = 0; i < 200; i++) {
            const s64 key = static_cast<s64>(random() % 100000);
            EXPECT_EQ(array.find(key) != nullptr, keys.count(key) > 0);
        }
        if (round % 4 != 3) {
            djs_map* const cleared = djs_map_clear(array.map());
            switches += cleared != array.map();
            array.map() = cleared;
            keys.clear();
            EXPECT_EQ(djs_map_count(array.map()), 0u);
            EXPECT_EQ(djs_map_memory(array.map()), first);
        }
    }
    EXPECT_GT(switches, 5u); // where many were there
}
