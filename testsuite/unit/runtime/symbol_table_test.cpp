// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's table of symbols: who has its slots filled, how long a symbol is good for, and what
// modules that come and go change.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "rings_for_test.h"

#include "include/words.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <string>

namespace {

std::map<u64, std::string> symbols; // of the kernel

constexpr u64 in_kernel = 0xffffffff81000000;
constexpr u64 modules_from = TEST_MODULES_FROM, modules_to = TEST_MODULES_TO;

class SymbolTable : public testing::Test {
  protected:
    void SetUp() override {
        test_rings_begin();
        pages_ = test_pages_available;
        djs_script.meta = "";
        djs_script.max_symbols = 100;
        djs_script.string_bytes = 512;
        symbols.clear();
        test_rings_symbol = [](char* text, u64 address) {
            test_may_sleep();
            strcpy(text, symbols.count(address) ? symbols[address].c_str() : "0x77");
        };
        ASSERT_EQ(test_symbol_table_init(), 0);
    }
    void TearDown() override {
        test_symbol_table_exit();
        EXPECT_EQ(test_rings_pages_left, 0U);
        EXPECT_EQ(test_rings_mappings_left, 0U);
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_FALSE(test_symbols_module(TEST_MODULE_LIVE, nullptr)); // nobody watches
        EXPECT_FALSE(test_symbols_interrupt());
        EXPECT_FALSE(test_symbols_work());
        test_pages_available = pages_;
        djs_script = {};
    }

    // Returns the slot of an address, or DJS_NO_SYMBOL.
    static u64 slot_of(u64 address) {
        u64 slot = 0;
        return test_symbols_slots(&address, 1, &slot) ? slot : DJS_NO_SYMBOL;
    }
    static const djs_symbol& symbol(u64 slot) {
        const djs_symbol_view view = test_symbols_view();
        return reinterpret_cast<const djs_symbol*>(view.area + 1)[slot];
    }
    static std::string text(u64 slot) {
        const djs_symbol_view view = test_symbols_view();
        const char* texts = reinterpret_cast<const char*>(
            reinterpret_cast<const djs_symbol*>(view.area + 1) + view.area->slots);
        return std::string(texts + symbol(slot).at, symbol(slot).length);
    }
    static std::string known(u64 address) {
        char out[DJS_SYMBOL_MAX];
        memset(out, 'x', sizeof(out));
        return test_symbols_copy(out, address) ? out : "unknown";
    }
    static std::string of(u64 address) {
        char out[DJS_SYMBOL_MAX];
        test_symbols_of(out, address);
        return out;
    }

  private:
    long pages_ = 0;
};

TEST_F(SymbolTable, NamesTheKernel) {
    symbols = {{in_kernel, "do_exit+0x1/0x20"},
               {in_kernel + 1, "init+0x0/0x9 [ext4]"},
               {in_kernel + 2, "0xffffffff81000002"}};
    EXPECT_EQ(of(in_kernel), "do_exit+0x1/0x20 [kernel]");
    EXPECT_EQ(of(in_kernel + 1), "init+0x0/0x9 [ext4]");
    EXPECT_EQ(of(in_kernel + 2), "0xffffffff81000002"); // no symbol
}

TEST_F(SymbolTable, IsFilledByATask) {
    symbols = {{in_kernel, "first+0x0/0x8"}, {in_kernel + 8, "second+0x0/0x8"}};
    const u64 addresses[] = {in_kernel, in_kernel + 8, in_kernel};
    u64 slots[3];
    test_atomic_depth++; // as a handler
    EXPECT_TRUE(test_symbols_slots(addresses, 3, slots));
    EXPECT_EQ(test_symbols_interrupts, 1U);
    EXPECT_EQ(slots[0], slots[2]);
    EXPECT_NE(slots[0], slots[1]);
    EXPECT_TRUE(test_symbols_slots(addresses, 3, slots));
    EXPECT_EQ(test_symbols_interrupts, 1U); // nothing new
    EXPECT_EQ(known(in_kernel), "unknown");
    test_atomic_depth--;
    EXPECT_EQ(symbol(slots[0]).state, DJS_SYMBOL_CLAIMED);
    EXPECT_FALSE(test_symbols_work());
    EXPECT_TRUE(test_symbols_interrupt());
    EXPECT_TRUE(test_symbols_work());
    EXPECT_EQ(symbol(slots[0]).state, DJS_SYMBOL_KEPT);
    EXPECT_EQ(symbol(slots[1]).address, in_kernel + 8);
    EXPECT_EQ(text(slots[0]), "first+0x0/0x8 [kernel]");
    EXPECT_EQ(text(slots[1]), "second+0x0/0x8 [kernel]");
    EXPECT_EQ(known(in_kernel), "first+0x0/0x8 [kernel]");
    EXPECT_EQ(known(in_kernel + 8), "second+0x0/0x8 [kernel]");
}

TEST_F(SymbolTable, IsFilledForReaders) {
    symbols = {{in_kernel, "first+0x0/0x8"}};
    const u64 slot = slot_of(in_kernel);
    test_symbols_fill();
    EXPECT_EQ(text(slot), "first+0x0/0x8 [kernel]");
    // Once: the kernel is not asked again.
    symbols = {{in_kernel, "another+0x0/0x8"}, {in_kernel + 1, "next+0x0/0x8"}};
    slot_of(in_kernel + 1);
    test_symbols_fill();
    EXPECT_EQ(known(in_kernel), "first+0x0/0x8 [kernel]");
    EXPECT_EQ(known(in_kernel + 1), "next+0x0/0x8 [kernel]");
}

TEST_F(SymbolTable, FillsItsFirstAndItsLastSlot) {
    const u32 slots = test_symbols_view().area->slots;
    bool first = false, last = false;
    for (u64 address = in_kernel; !first || !last; address += 8) {
        ASSERT_LT(address, in_kernel + 8 * 100000);
        const u64 slot = (address * 0x9e3779b97f4a7c15u) >> (64 - __builtin_ctz(slots));
        if (slot != 0 && slot != slots - 1)
            continue;
        if (slot ? last : first)
            continue;
        (slot ? last : first) = true;
        symbols[address] = slot ? "last+0x0/0x8" : "first+0x0/0x8";
        ASSERT_EQ(slot_of(address), slot);
    }
    test_symbols_fill();
    EXPECT_EQ(text(0), "first+0x0/0x8 [kernel]");
    EXPECT_EQ(text(slots - 1), "last+0x0/0x8 [kernel]");
}

// Programs of BPF and the kernel's trampolines are where modules are, but do not say that they come
// and go.
TEST_F(SymbolTable, KeepsWhatModulesAnnounce) {
    struct {
        u64 address;
        const char* text;
        djs_symbol_state state;
    } const cases[] = {
        {modules_from, "f+0x0/0x8 [ext4]", DJS_SYMBOL_KEPT},
        {modules_from + 8, "f+0x0/0x8 [bpf]", DJS_SYMBOL_ONCE},
        {modules_from + 16, "f+0x0/0x8 [__builtin__ftrace]", DJS_SYMBOL_ONCE},
        {modules_from + 24, "0xc0000018", DJS_SYMBOL_ONCE},
        {modules_from + 32, "f+0x0/0x8", DJS_SYMBOL_ONCE}, // [kernel] is appended
        {modules_from + 40, "f+0x0/0x8 [bpf_testmod]", DJS_SYMBOL_KEPT},
        {modules_from + 48, "f+0x0/0x8 [__builtin_]", DJS_SYMBOL_KEPT},
        {modules_from - 1, "f+0x0/0x8 [bpf]", DJS_SYMBOL_KEPT},
        {modules_from - 2, "0xbffffffe", DJS_SYMBOL_KEPT},
        {modules_to - 1, "f+0x0/0x8 [bpf]", DJS_SYMBOL_ONCE},
        {modules_to, "f+0x0/0x8 [bpf]", DJS_SYMBOL_KEPT},
    };
    for (const auto& each : cases) {
        symbols[each.address] = each.text;
        const u64 slot = slot_of(each.address);
        ASSERT_NE(slot, DJS_NO_SYMBOL);
        test_symbols_fill();
        EXPECT_EQ(symbol(slot).state, each.state) << each.text;
        EXPECT_EQ(known(each.address) == "unknown", each.state == DJS_SYMBOL_ONCE) << each.text;
    }
}

TEST_F(SymbolTable, HasWhatIsKnownOfPrograms) {
    const u64 word = djs_word(0x401000, 3, true);
    symbols = {{word, "0x1800000401000"}};
    EXPECT_EQ(of(word), "0x1800000401000"); // the script knows no programs
    test_rings_symbol_of_program = [](char* out, u64 of_program) -> u32 {
        memcpy(out, "[bash+0x1000]\0id", 17);
        EXPECT_EQ(of_program, djs_word(0x401000, 3, true));
        return 16; // the file's build-id is behind a NUL
    };
    EXPECT_EQ(of(word), "[bash+0x1000]");
    symbols = {{in_kernel, "f+0x0/0x8"}};
    EXPECT_EQ(of(in_kernel), "f+0x0/0x8 [kernel]");
    const u64 slot = slot_of(word), kernel = slot_of(in_kernel);
    test_symbols_fill();
    EXPECT_EQ(text(slot), std::string("[bash+0x1000]\0id", 16));
    EXPECT_EQ(symbol(slot).state, DJS_SYMBOL_KEPT);
    EXPECT_EQ(text(kernel), "f+0x0/0x8 [kernel]");
}

TEST_F(SymbolTable, SaysWhenItIsFull) {
    test_symbol_table_exit();
    djs_script.max_symbols = 1; // one text
    ASSERT_EQ(test_symbol_table_init(), 0);
    const u64 addresses[] = {in_kernel, in_kernel + 8, in_kernel};
    u64 slots[3] = {~0U, ~0U, ~0U};
    EXPECT_FALSE(test_symbols_slots(addresses, 3, slots));
    EXPECT_EQ(slots[0], slot_of(in_kernel));
    EXPECT_EQ(slots[2], ~0U);
    EXPECT_EQ(test_symbols_interrupts, 1U); // the first one is to be filled nevertheless
    EXPECT_EQ(slot_of(in_kernel + 8), DJS_NO_SYMBOL);
    EXPECT_EQ(known(in_kernel + 8), "unknown");
}

TEST_F(SymbolTable, GivesAddressesOfModulesNewSlots) {
    test_ring_module module{modules_from + 0x100, modules_from + 0x200, modules_from + 0x300};
    const u64 text_at = module.text, init_at = module.init, last = module.end - 1,
              before = module.text - 1, behind = module.end;
    const u64 all[] = {before, text_at, init_at, last, behind};
    u64 slots[5], again[5];
    for (const u64 address : all)
        symbols[address] = "old+0x0/0x8 [m]";
    ASSERT_TRUE(test_symbols_slots(all, 5, slots));
    // It is initialized: its init part goes. What was recorded has the symbol that it had then.
    EXPECT_TRUE(test_symbols_module(TEST_MODULE_LIVE, &module));
    for (const u64 slot : slots)
        EXPECT_EQ(text(slot), "old+0x0/0x8 [m]");
    for (const u64 address : all)
        symbols[address] = "new+0x0/0x8 [m]";
    ASSERT_TRUE(test_symbols_slots(all, 5, again));
    for (const u32 number : {0U, 1U, 4U})
        EXPECT_EQ(slots[number], again[number]) << number;
    for (const u32 number : {2U, 3U}) {
        EXPECT_NE(slots[number], again[number]) << number;
        EXPECT_EQ(symbol(slots[number]).key, DJS_SYMBOL_RETIRED);
        EXPECT_EQ(symbol(slots[number]).address, all[number]);
    }
    for (const auto state : {TEST_MODULE_GOING, TEST_MODULE_COMING}) {
        ASSERT_TRUE(test_symbols_slots(all, 5, slots));
        EXPECT_TRUE(test_symbols_module(state, &module));
        ASSERT_TRUE(test_symbols_slots(all, 5, again));
        for (const u32 number : {0U, 4U})
            EXPECT_EQ(slots[number], again[number]) << number;
        for (const u32 number : {1U, 2U, 3U})
            EXPECT_NE(slots[number], again[number]) << number;
    }
    EXPECT_EQ(known(init_at), "unknown");
    test_symbols_fill();
    EXPECT_EQ(known(init_at), "new+0x0/0x8 [m]");
}

// A module may be anywhere, but a slot that is free has no address.
TEST_F(SymbolTable, RetiresNoFreeSlot) {
    test_ring_module module{0, 0, modules_to};
    const u64 slot = slot_of(modules_from);
    for (const auto state : {TEST_MODULE_LIVE, TEST_MODULE_COMING})
        EXPECT_TRUE(test_symbols_module(state, &module));
    for (u32 other = 0; other < test_symbols_view().area->slots; other++)
        EXPECT_EQ(symbol(other).key, other == slot ? DJS_SYMBOL_RETIRED : 0U);
}

TEST_F(SymbolTable, RetiresItsFirstAndItsLastSlot) {
    const u32 slots = test_symbols_view().area->slots;
    u64 first = 0, last = 0;
    for (u64 address = modules_from; !first || !last; address += 8) {
        ASSERT_LT(address, modules_to);
        const u64 slot = (address * 0x9e3779b97f4a7c15u) >> (64 - __builtin_ctz(slots));
        if (slot == 0)
            first = address;
        if (slot == slots - 1)
            last = address;
    }
    ASSERT_EQ(slot_of(first), 0U);
    ASSERT_EQ(slot_of(last), slots - 1);
    test_ring_module module{modules_from, modules_from, modules_to};
    EXPECT_TRUE(test_symbols_module(TEST_MODULE_GOING, &module));
    EXPECT_EQ(symbol(0).key, DJS_SYMBOL_RETIRED);
    EXPECT_EQ(symbol(slots - 1).key, DJS_SYMBOL_RETIRED);
}

TEST_F(SymbolTable, ConsistsOfPagesThatReadersMap) {
    const djs_symbol_view view = test_symbols_view();
    const unsigned long pages = test_symbols_pages();
    // The header, slots and texts, up to the end of a page.
    EXPECT_GE(view.bytes, djs_symbol_area_bytes(100));
    EXPECT_LT(view.bytes, djs_symbol_area_bytes(100) + TEST_PAGE);
    EXPECT_EQ(view.bytes, pages * TEST_PAGE);
    EXPECT_EQ(view.area->string_bytes, 512U);
    for (unsigned long page = 0; page < pages; page++)
        EXPECT_EQ(test_symbols_page(page),
                  test_vmalloc_page(reinterpret_cast<const char*>(view.area) + page * TEST_PAGE));
    EXPECT_EQ(test_symbols_page(pages), 0U);
    ASSERT_EQ(test_rings_dump_pages(), 1U); // for crash dumps
    EXPECT_EQ(test_rings_dump_page(0)->cpu, DJS_DUMP_SYMBOLS);
    EXPECT_EQ(test_rings_dump_page(0)->count, pages);
}

TEST_F(SymbolTable, EndsWithWhatWasQueued) {
    slot_of(in_kernel);
    test_symbol_table_exit(); // the interrupt comes while it is waited for, and queues the work
    EXPECT_FALSE(test_symbols_interrupt());
    EXPECT_FALSE(test_symbols_work());
    EXPECT_EQ(test_symbols_pages(), 0U);
    EXPECT_EQ(test_symbols_page(0), 0U);
    EXPECT_EQ(test_symbols_view().area, nullptr);
    EXPECT_EQ(test_symbols_view().bytes, 0U);
    EXPECT_EQ(slot_of(in_kernel), DJS_NO_SYMBOL);
    test_symbols_fill();
}

TEST_F(SymbolTable, IsOnlyForScriptsThatNeedIt) {
    test_symbol_table_exit();
    djs_script.max_symbols = 0;
    test_allocations_left = 0;
    EXPECT_EQ(test_symbol_table_init(), 0);
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(test_symbols_pages(), 0U);
    EXPECT_EQ(slot_of(in_kernel), DJS_NO_SYMBOL);
    EXPECT_EQ(known(in_kernel), "unknown");
}

TEST_F(SymbolTable, IsAllOrNothing) {
    test_symbol_table_exit();
    for (long allowed = 0; allowed < 3; allowed++) { // the area, its list of pages, one of them
        test_allocations_left = allowed;
        EXPECT_EQ(test_symbol_table_init(), -ENOMEM);
        test_allocations_left = LONG_MAX;
        EXPECT_EQ(guarded_count() + test_rings_pages_left, 0U) << allowed;
    }
    test_symbols_notifier_error = -EEXIST;
    EXPECT_EQ(test_symbol_table_init(), -EEXIST);
    EXPECT_EQ(guarded_count() + test_rings_pages_left, 0U);
    test_symbols_notifier_error = 0;
    test_pages_available = 0;
    EXPECT_EQ(test_symbol_table_init(), -ENOMEM);
    EXPECT_EQ(guarded_count() + test_rings_pages_left, 0U);
    test_pages_available = 1000;
    test_allocations_left = 3;
    EXPECT_EQ(test_symbol_table_init(), 0);
    test_allocations_left = LONG_MAX;
}

} // namespace
