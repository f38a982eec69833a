// SPDX-License-Identifier: GPL-2.0-or-later
// Two claim slots of the table of symbols at the same time: the processor traps after each
// instruction of one claim, and the trap's handler makes the other one.
#include "include/record.h"
#include "include/symbols.h"
#include "single_step.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

class SymbolClaims : public testing::Test {
  protected:
    static constexpr u64 address = 0xffffffff81000010;

    void SetUp() override {
        renew();
        step_.start();
    }
    void TearDown() override { step_.stop(); }
    static void renew() {
        words_.assign(djs_symbol_area_bytes(100) / sizeof(u64), 0);
        table = {};
        djs_symbol_table_init(&table, words_.data(), 100, 512);
        others_slot = DJS_NO_SYMBOL;
        others_is_fresh = false;
    }
    // Where the search for an address begins.
    static u64 home_of(u64 of) { return of * 0x9e3779b97f4a7c15ull >> table.shift; }
    // Somebody else claims this address meanwhile, once after each instruction. What is there then
    // is that many slots.
    static void expect_slots(u64 of_other, int slots) {
        other = of_other;
        int at = 1;
        for (;; at += at < 300 ? 1 : at / 20) {
            renew();
            u32 slot = 0;
            bool fresh = false;
            const bool has_happened = SingleStep::interrupt_after(
                at, [] { others_slot = djs_symbol_claim(&table, other, &others_is_fresh); },
                [&] { slot = djs_symbol_claim(&table, address, &fresh); });
            if (!has_happened)
                break;
            ASSERT_NE(slot, DJS_NO_SYMBOL) << at;
            ASSERT_NE(others_slot, DJS_NO_SYMBOL) << at;
            ASSERT_EQ(slot == others_slot, slots == 1) << at;
            ASSERT_EQ(fresh + others_is_fresh, slots) << at;
            ASSERT_EQ(table.symbols[slot].key, address) << at;
            ASSERT_EQ(table.symbols[others_slot].key, other) << at;
            // Each is counted as one of the longest text.
            ASSERT_EQ(table.room, s64{table.area->text_bytes} - slots * s64{DJS_SYMBOL_MAX}) << at;
        }
        EXPECT_GT(at, 10);
    }

    static inline djs_symbol_table table;
    static inline u64 other;
    static inline u32 others_slot;
    static inline bool others_is_fresh;

  private:
    static inline std::vector<u64> words_;
    SingleStep step_;
};

TEST_F(SymbolClaims, OfOneAddressGetTheSameSlot) {
    expect_slots(address, 1);
}

TEST_F(SymbolClaims, OfTwoAddressesGetTwo) {
    expect_slots(address + 16, 2);
    u64 neighbour = address + 16;
    while (home_of(neighbour) != home_of(address))
        neighbour += 16;
    expect_slots(neighbour, 2);
}

} // namespace
