// SPDX-License-Identifier: GPL-2.0-or-later
// The table of symbols: who claims a slot, who fills it, and what is found there.
#include "include/symbols.h"

#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr u32 string_bytes = 512;

// A table in memory of its own, behind whose end nothing may be touched.
class Table {
  public:
    explicit Table(u32 count) : words_(djs_symbol_area_bytes(count) / sizeof(u64)) {
        djs_symbol_table_init(&table, words_.data(), count, string_bytes);
    }
    u32 claim(u64 address) {
        bool fresh = false;
        const u32 slot = djs_symbol_claim(&table, address, &fresh);
        claims += fresh;
        return slot;
    }
    void fill(u32 slot, const std::string& text, djs_symbol_state state = DJS_SYMBOL_KEPT) {
        djs_symbol_fill(&table, slot, text.data(), static_cast<u32>(text.size()), state);
    }
    std::string known(u32 slot) const {
        u32 length;
        const char* text = djs_symbol_known(&table, slot, &length);
        return text ? std::string(text, length) : "to come";
    }

    djs_symbol_table table{};
    u32 claims = 0;

  private:
    std::vector<u64> words_;
};

constexpr u64 address_of(u64 number) {
    return 0xffffffff81000000 + number * 16;
}

std::string text_of(u64 address) {
    return "symbol_" + std::to_string(address) + "+0x0/0x10 [kernel]";
}

} // namespace

TEST(Symbols, AnAddressHasOneSlot) {
    Table table(100);
    std::set<u32> slots;
    for (u64 i = 0; i < 50; i++) {
        const u32 slot = table.claim(address_of(i));
        ASSERT_NE(slot, DJS_NO_SYMBOL) << i;
        EXPECT_TRUE(slots.insert(slot).second);
        EXPECT_EQ(table.claim(address_of(i)), slot);
        EXPECT_EQ(table.claims, i + 1);
        EXPECT_EQ(table.known(slot), "to come");
        EXPECT_TRUE(djs_symbols_pending(&table.table));
        EXPECT_EQ(djs_symbol_next(&table.table, 0), slot);
        table.fill(slot, text_of(address_of(i)));
        EXPECT_FALSE(djs_symbols_pending(&table.table));
        EXPECT_EQ(djs_symbol_next(&table.table, 0), table.table.area->slots);
        EXPECT_EQ(table.known(slot), text_of(address_of(i)));
        EXPECT_EQ(table.claim(address_of(i)), slot);
    }
    u64 i = 0;
    for (const u32 slot : slots)
        i += table.table.symbols[slot].address;
    EXPECT_EQ(i, 50 * address_of(0) + 16 * 49 * 25);
}

TEST(Symbols, WhatIsNoAddressHasNone) {
    Table table(100);
    EXPECT_EQ(table.claim(0), DJS_NO_SYMBOL);
    EXPECT_EQ(table.claim(DJS_SYMBOL_RETIRED), DJS_NO_SYMBOL);
    EXPECT_EQ(table.claims, 0u);
    EXPECT_FALSE(djs_symbols_pending(&table.table));
}

// Whatever the texts are, a slot that was claimed can be filled.
TEST(Symbols, AreNotPromisedMoreThanThereIs) {
    for (const u32 count : {1u, 2u, 100u, 1000u}) {
        for (const size_t length :
             {size_t{3}, size_t{64}, size_t{65}, size_t{DJS_SYMBOL_MAX - 1}}) {
            Table table(count);
            const std::string text(length, 'x');
            u32 claimed = 0, filled = 0;
            for (u64 i = 0; i < 4 * count + 100; i++) {
                if (table.claim(address_of(i)) != DJS_NO_SYMBOL)
                    claimed++;
                if (i % 3 != 2)
                    continue;
                for (u32 at = djs_symbol_next(&table.table, 0); at < table.table.area->slots;
                     at = djs_symbol_next(&table.table, at + 1), filled++)
                    table.fill(at, text);
                EXPECT_LE(table.table.filled, table.table.area->text_bytes);
            }
            EXPECT_EQ(claimed, table.claims);
            EXPECT_LE(table.table.filled, table.table.area->text_bytes);
            EXPECT_GE(table.table.room, 0);
            EXPECT_LT(table.table.room, s64{DJS_SYMBOL_MAX}) << "there was room";
            if (length <= DJS_SYMBOL_LEAST) {
                EXPECT_GE(claimed, count);
            }
            EXPECT_GE(claimed, 1u);
        }
    }
}

TEST(Symbols, AreFoundAgainUnlessTheyMayChange) {
    Table table(100);
    const u32 slot = table.claim(address_of(1));
    table.fill(slot, "trampoline [bpf]", DJS_SYMBOL_ONCE);
    EXPECT_EQ(table.claim(address_of(1)), DJS_NO_SYMBOL);
    EXPECT_EQ(table.known(slot), "trampoline [bpf]") << "for the record that has the slot";
    EXPECT_EQ(table.claims, 1u);
}

TEST(Symbols, ARetiredOneKeepsItsTextAndIsReplaced) {
    Table table(100);
    const u32 before = table.claim(address_of(1));
    djs_symbol_retire(&table.table, before);
    EXPECT_EQ(table.claim(address_of(1)), before) << "it was not filled";
    table.fill(before, "old");
    djs_symbol_retire(&table.table, before);
    const u32 after = table.claim(address_of(1));
    ASSERT_NE(after, DJS_NO_SYMBOL);
    EXPECT_NE(after, before);
    EXPECT_EQ(djs_symbol_next(&table.table, 0), after) << "the old one is not filled again";
    table.fill(after, "new");
    EXPECT_EQ(table.known(before), "old");
    EXPECT_EQ(table.table.symbols[before].address, address_of(1));
    EXPECT_EQ(table.known(after), "new");
}

// Addresses with the same hash.
TEST(Symbols, ASearchEnds) {
    Table table(1000);
    std::map<u32, std::vector<u64>> by_home;
    std::vector<u64> same;
    for (u64 i = 0; same.empty(); i++) {
        auto& those =
            by_home[static_cast<u32>(address_of(i) * 0x9e3779b97f4a7c15ull >> table.table.shift)];
        those.push_back(address_of(i));
        if (those.size() == 40)
            same = those;
    }
    u32 found = 0;
    for (const u64 address : same) {
        const u32 slot = table.claim(address);
        if (slot == DJS_NO_SYMBOL)
            continue;
        found++;
        table.fill(slot, text_of(address));
    }
    EXPECT_EQ(found, 16u);
    for (const u64 address : same)
        if (const u32 slot = table.claim(address); slot != DJS_NO_SYMBOL) {
            EXPECT_EQ(table.known(slot), text_of(address));
        }
}

// Handlers on several CPUs want the same addresses while a task fills the slots, and retires some.
TEST(Symbols, AreClaimedByManyAtOnce) {
    constexpr u64 addresses = 500, rounds = 200;
    constexpr unsigned handlers = 4;
    Table table(8000); // room for each address, even if nothing is filled until the end
    std::atomic<unsigned> running{handlers};
    std::atomic<u64> wrong{0}, none{0}, used{0}, fresh_claims{0};
    std::vector<std::thread> threads;
    for (unsigned cpu = 0; cpu < handlers; cpu++)
        threads.emplace_back([&, cpu] {
            for (u64 round = 0; round < rounds; round++)
                for (u64 i = 0; i < addresses; i++) {
                    const u64 address = address_of((i * 7 + cpu * 13 + round) % addresses);
                    bool fresh = false;
                    const u32 slot = djs_symbol_claim(&table.table, address, &fresh);
                    fresh_claims += fresh;
                    if (slot == DJS_NO_SYMBOL) {
                        none++;
                        continue;
                    }
                    u32 length;
                    used++;
                    if (const char* text = djs_symbol_known(&table.table, slot, &length))
                        wrong += std::string(text, length) != text_of(address) ||
                                 table.table.symbols[slot].address != address;
                }
            running--;
        });
    u64 filled = 0, retired = 0;
    const auto fill_all = [&] {
        const u32 slots = table.table.area->slots;
        for (u32 at = djs_symbol_next(&table.table, 0); at < slots;
             at = djs_symbol_next(&table.table, at + 1)) {
            table.fill(at,
                       text_of(__atomic_load_n(&table.table.symbols[at].key, __ATOMIC_RELAXED)));
            if (++filled % 50 == 0 && retired < 1000) {
                djs_symbol_retire(&table.table, at);
                retired++;
            }
        }
    };
    while (running)
        fill_all();
    for (auto& thread : threads)
        thread.join();
    fill_all();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(used, 0u);
    EXPECT_EQ(fresh_claims, filled);
    EXPECT_GE(filled, addresses);
    EXPECT_FALSE(djs_symbols_pending(&table.table));
    std::set<u64> seen;
    for (u32 at = 0; at < table.table.area->slots; at++)
        if (const u64 key = table.table.symbols[at].key; key > DJS_SYMBOL_RETIRED) {
            EXPECT_TRUE(seen.insert(key).second) << "an address has two slots";
        }
}
