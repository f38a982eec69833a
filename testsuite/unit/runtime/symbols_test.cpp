// SPDX-License-Identifier: GPL-2.0-or-later
// The table of symbols: who claims a slot, who fills it, and what is found there.
#include "include/record.h"
#include "include/statistic.h"
#include "include/symbols.h"
#include "include/words.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
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

// Half of the slots remain free, but no more of them than the next power of two.
TEST(Symbols, HaveTwiceAsManySlots) {
    const std::pair<u32, u32> counts[] = {{1, 32}, {5, 32}, {6, 64}, {21, 64}, {22, 128}};
    for (const auto& [count, slots] : counts) {
        // The least symbols are of 64 bytes, and the last one may be of 768.
        const u32 most = count - 1 + 768 / 64;
        EXPECT_GE(slots, 2 * most);
        EXPECT_LT(slots, 4 * most);
        EXPECT_EQ(Table(count).table.area->slots, slots) << count;
    }
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

namespace {
// What a reader knows of the program's address 0x401000, and what it was asked.
struct Program {
    const char *symbol = nullptr, *place = nullptr;
    std::string known;
    u64 slot = 0, word = 0;
    char type = 0;
    int refreshed = 0;
};

djs_symbol_view view_of(const Table& table, Program& program) {
    djs_symbol_view view{};
    view.area = table.table.area;
    view.bytes = djs_symbol_area_bytes(100);
    view.data = &program;
    view.refresh = [](void* data) { static_cast<Program*>(data)->refreshed++; };
    view.of_program = [](void* data, u64 slot, u64 word, const char* known, size_t length) {
        auto& its = *static_cast<Program*>(data);
        its.known.assign(known, length);
        its.slot = slot;
        its.word = word;
        return its.symbol;
    };
    view.place_of_program = [](void* data, u64, u64, const char*, size_t, char type) {
        auto& its = *static_cast<Program*>(data);
        its.type = type;
        return its.place;
    };
    return view;
}

// The string that an argument of these slots becomes.
std::string expanded(const djs_symbol_view& view, char type, const std::vector<u64>& slots) {
    std::vector<u64> argument{slots.size()};
    argument.insert(argument.end(), slots.begin(), slots.end());
    const char types[] = {type, 0};
    char out[256];
    u32 length = 0;
    const size_t bytes = djs_symbols_expand(&view, out, sizeof(out), types, argument.data(),
                                            argument.size() * sizeof(u64));
    if (bytes == DJS_SYMBOLS_DAMAGED)
        return "damaged";
    std::memcpy(&length, out, sizeof(length));
    EXPECT_EQ(bytes, DJS_ALIGN8(sizeof(length) + length));
    return std::string(out + sizeof(length), length);
}

std::string line_of(const djs_symbol_view& view, u64 slot, size_t size = 256) {
    std::string out(size, '#');
    out.resize(djs_symbol_line(&view, out.data(), size, slot));
    return out;
}
} // namespace

TEST(Symbols, OfProgramsAreWhatTheReaderKnows) {
    Table table(100);
    Program program;
    const djs_symbol_view view = view_of(table, program);
    const u64 word = djs_word(0x401000, 3, false);
    const u32 slot = table.claim(word), other = table.claim(address_of(1));
    EXPECT_EQ(line_of(view, slot), " 0x401000 : 0x401000\n") << "it is still to come";
    EXPECT_EQ(program.refreshed, 1);
    const std::string kept("0x401000 [/bin/x+0x1000]\0id", 27);
    table.fill(slot, kept);
    table.fill(other, "vfs_read+0x10/0x2f0 [kernel]");
    EXPECT_EQ(line_of(view, slot), " 0x401000 : 0x401000 [/bin/x+0x1000]\n");
    EXPECT_EQ(line_of(view, slot, 16), " 0x401000 : 0x4");
    EXPECT_EQ(program.refreshed, 1) << "nothing is to come";
    EXPECT_EQ(program.known, kept);
    EXPECT_EQ(program.slot, slot);
    EXPECT_EQ(program.word, word);
    EXPECT_EQ(expanded(view, 'D', {slot}), "0x401000 [/bin/x+0x1000]");
    program.symbol = "main+0x10/0x20 at main.c:7 [/bin/x]";
    program.known.clear();
    EXPECT_EQ(expanded(view, 'D', {slot}), program.symbol);
    EXPECT_EQ(expanded(view, 'N', {slot}), "main");
    EXPECT_EQ(expanded(view, 'B', {slot, other}),
              "main+0x10 at main.c:7 [/bin/x]\nvfs_read+0x10 [kernel]\n");
    EXPECT_EQ(expanded(view, 'L', {slot}), " 0x401000 : main+0x10/0x20 at main.c:7 [/bin/x]\n");
    program.known.clear();
    EXPECT_EQ(expanded(view, 'D', {other}), "vfs_read+0x10/0x2f0 [kernel]");
    EXPECT_EQ(program.known, "") << "it is not asked for the kernel's";
}

// A name may contain what follows others.
TEST(Symbols, NamesOfProgramsMayContainAnything) {
    Table table(100);
    Program program;
    const djs_symbol_view view = view_of(table, program);
    const u32 slot = table.claim(djs_word(0x401000, 3, false));
    table.fill(slot, "0x401000");
    for (const auto& [symbol, name, short_form] :
         {std::tuple<const char*, const char*, const char*>{"look at me+0x1/0x2 [x]", "look at me",
                                                            "look at me+0x1 [x]"},
          {"f+0xab/0xcd0 at a b.c:12 [x]", "f", "f+0xab at a b.c:12 [x]"},
          {"f+0x1 at g+0x2/0x30 at a.c:1 [x]", "f+0x1 at g", "f+0x1 at g+0x2 at a.c:1 [x]"},
          {"f [y]+0x1/0x2 [x]", "f [y]", "f [y]+0x1 [x]"},
          {"f/0x2 [x]", "f", "f [x]"},
          {"f+0x/0x2 [x]", "f+0x", "f+0x [x]"},
          {"f+1x2/0x2 [x]", "f+1x2", "f+1x2 [x]"},
          {"0x401000 [/bin/x+0x1000]", "0x401000", "0x401000 [/bin/x+0x1000]"},
          {"f", "f", "f"}}) {
        program.symbol = symbol;
        EXPECT_EQ(expanded(view, 'N', {slot}), name) << symbol;
        EXPECT_EQ(expanded(view, 'B', {slot}), short_form + std::string("\n"));
    }
}

TEST(Symbols, PlacesOfProgramsAreWhatTheReaderKnows) {
    Table table(100);
    Program program;
    djs_symbol_view view = view_of(table, program);
    const u32 slot = table.claim(djs_word(0x401000, 3, false)), other = table.claim(address_of(1));
    program.place = "main.c:7";
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000") << "it is still to come";
    EXPECT_GT(program.refreshed, 0);
    table.fill(slot, "0x401000 [/bin/x+0x1000]");
    table.fill(other, "vfs_read+0x10/0x2f0 [kernel]");
    for (const char type : {'P', 'F', 'I'}) {
        EXPECT_EQ(expanded(view, type, {slot}), "main.c:7");
        EXPECT_EQ(program.type, type);
        program.type = 0;
        EXPECT_EQ(expanded(view, type, {other}), "0xffffffff81000010");
        EXPECT_EQ(program.type, 0) << "it is not asked for the kernel's";
        EXPECT_EQ(expanded(view, type, {}), "");
        EXPECT_EQ(expanded(view, type, {12345}), "0x0");
    }
    program.place = nullptr;
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000");
    program.place = "main.c:7";
    auto& symbol = table.table.symbols[slot];
    symbol.length = DJS_SYMBOL_MAX;
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000");
    symbol.length = 8;
    symbol.at = table.table.area->text_bytes - 7;
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000");
    symbol.at--;
    EXPECT_EQ(expanded(view, 'P', {slot}), "main.c:7");
    symbol.at = table.table.area->text_bytes + 1;
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000");
    symbol.at = 0;
    view.place_of_program = nullptr;
    EXPECT_EQ(expanded(view, 'P', {slot}), "0x401000");
}

// A string of the script would end there, too.
TEST(Symbols, AreCutToStringsOfTheScript) {
    Table table(100);
    Program program;
    const djs_symbol_view view = view_of(table, program);
    const u32 slot = table.claim(djs_word(0x401000, 3, false));
    table.fill(slot, "0x401000");
    const std::string name = "a_function", whole = name + "+0x10/0x20 [/bin/x]";
    program.symbol = whole.c_str();
    program.place = "source_file.c:123";
    for (u32 size = 1; size <= whole.size() + 2; size++) {
        table.table.area->string_bytes = size;
        EXPECT_EQ(expanded(view, 'D', {slot}), whole.substr(0, size - 1));
        EXPECT_EQ(expanded(view, 'N', {slot}), name.substr(0, size - 1));
        for (const char type : {'P', 'F', 'I'})
            EXPECT_EQ(expanded(view, type, {slot}), std::string(program.place).substr(0, size - 1));
    }
}

// Of a backtrace no part of a name is left, and a mark says that something is missing; of lines,
// the first one may be cut.
TEST(Symbols, OfStacksAreWholeLinesOfStringsOfTheScript) {
    Table table(100);
    Program program;
    const djs_symbol_view view = view_of(table, program);
    std::vector<u64> slots;
    std::vector<std::string> backtrace, lines;
    for (const char* name : {"alpha", "be", "gamma_delta"}) {
        const u64 address = address_of(slots.size());
        const u32 slot = table.claim(address);
        table.fill(slot, name + std::string("+0x1/0x20 [kernel]"));
        backtrace.push_back(name + std::string("+0x1 [kernel]\n"));
        lines.push_back(" 0xffffffff810000" + std::to_string(slots.size()) + "0 : " + name +
                        "+0x1/0x20 [kernel]\n");
        slots.push_back(slot);
    }
    const std::string mark = "...\n";
    for (u32 size = 5; size < 160; size++) {
        table.table.area->string_bytes = size;
        std::string expected;
        for (size_t i = 0; i < backtrace.size(); i++) {
            const size_t kept_free = i + 1 == backtrace.size() ? 0 : mark.size();
            if (expected.size() + backtrace[i].size() + kept_free >= size) {
                expected += mark;
                break;
            }
            expected += backtrace[i];
        }
        EXPECT_EQ(expanded(view, 'B', slots), expected) << size;
        expected = lines[0].substr(0, size - 1);
        for (size_t i = 1; i < lines.size() && expected.size() + lines[i].size() < size; i++)
            expected += lines[i];
        EXPECT_EQ(expanded(view, 'L', slots), expected) << size;
    }
}

// The string of the symbols is in the place of their slots; what stands before and behind it is as
// it was.
TEST(Symbols, StandBesideOtherArguments) {
    Table table(100);
    Program program;
    const djs_symbol_view view = view_of(table, program);
    const u32 slot = table.claim(address_of(1));
    table.fill(slot, "f+0x0/0x8 [kernel]");
    const auto word = [](u64 value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 3;
    const std::string histogram(reinterpret_cast<const char*>(&header), sizeof(header));
    const std::string before = word(7) + histogram + word(1) + word(2) + word(3),
                      name = std::string("cat") + std::string(13, '\0'),
                      stack = word(2) + word(8) + word(9), text = std::string("\3\0\0\0abc", 7);
    const std::string whole = before + word(1) + word(slot) + name + stack + text;
    // 18 characters and their number need 24 bytes.
    const std::string symbols =
        std::string("\x12\0\0\0", 4) + "f+0x0/0x8 [kernel]" + std::string(2, '\0');
    const std::string expected = before + symbols + name + stack + text + '\0';
    std::string out(512, '#');
    const auto bytes_of = [&](size_t length) {
        return djs_symbols_expand(&view, out.data(), out.size(), "lhDnks", whole.data(), length);
    };
    ASSERT_EQ(bytes_of(whole.size()), expected.size());
    EXPECT_EQ(out, expected + std::string(512 - expected.size(), '#'));
    for (size_t length = 0; length < whole.size(); length++)
        EXPECT_EQ(bytes_of(length), DJS_SYMBOLS_DAMAGED) << length;
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
