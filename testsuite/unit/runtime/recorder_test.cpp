// SPDX-License-Identifier: GPL-2.0-or-later
// The flight recorder: parts whose oldest records are replaced, also damaged ones.
#include "globals_for_test.h"
#include "made_up_rings.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {

TEST_F(Recorder, GoesOnInTheNextPart) {
    test_rings_now = 500;
    EXPECT_TRUE(put(part - 32));
    memset(at(part), 'x', part); // whatever was there
    at(2 * part)->time = 12;     // and behind it
    test_rings_now = 600;
    djs_record* record = reserve(48, 3);
    ASSERT_EQ(record, at(part));
    EXPECT_EQ(record->id, 3U);
    EXPECT_EQ(record->size, 0U);
    for (u32 i = sizeof(*record); i < part; i++)
        ASSERT_EQ(ring.data[part + i], 0) << i;
    EXPECT_EQ(at(2 * part)->time, 12U);
    const djs_record* padding = at(part - 32);
    EXPECT_EQ(padding->id, DJS_RECORD_PADDING);
    EXPECT_EQ(padding->size, 32U);
    EXPECT_EQ(padding->time, 600U);
    EXPECT_EQ(ring.page->newest, part);
    EXPECT_EQ(*ring.limit, 2U * part);
    EXPECT_EQ(*ring.head, part + 48U);
    EXPECT_EQ(*ring.changing_part, 0U);
    EXPECT_EQ(test_rings_lost(), 0U);
}

TEST_F(Recorder, PadsWhereAHeaderFits) {
    EXPECT_TRUE(put(part - 16));
    EXPECT_TRUE(put(24));
    EXPECT_EQ(at(part - 16)->id, DJS_RECORD_PADDING);
    EXPECT_EQ(at(part - 16)->size, 16U);
    EXPECT_TRUE(put(part - 24 - 8));
    ASSERT_EQ(*ring.head, 2U * part - 8);
    EXPECT_TRUE(put(16));
    EXPECT_EQ(*ring.head, 2U * part + 16);
    u64 rest;
    memcpy(&rest, ring.data + 2 * part - 8, 8);
    EXPECT_EQ(rest, 0U);
    EXPECT_TRUE(put(part - 16));
    ASSERT_EQ(*ring.head, 3U * part); // nothing is left
    djs_record* record = reserve(16, 4);
    ASSERT_EQ(record, at(3 * part));
    EXPECT_EQ(record->id, 4U);
    EXPECT_EQ(record->size, 0U);
}

TEST_F(Recorder, ReplacesTheOldestRecords) {
    // Three in the first part, with padding behind them; one in the second; two of the smallest
    // size and a large one in the third.
    EXPECT_TRUE(put(24));
    EXPECT_TRUE(put(16));
    EXPECT_TRUE(put(8192));
    EXPECT_TRUE(put(part));
    EXPECT_TRUE(put(16));
    EXPECT_TRUE(put(part - 32));
    EXPECT_TRUE(put(16));
    EXPECT_TRUE(put(part));
    EXPECT_EQ(test_rings_overwritten(), 0U);
    EXPECT_EQ(test_rings_oldest_part(0), 0U);
    EXPECT_TRUE(put(part));
    EXPECT_EQ(test_rings_overwritten(), 3U);
    EXPECT_EQ(test_rings_oldest_part(0), part);
    EXPECT_TRUE(put(part));
    EXPECT_EQ(test_rings_overwritten(), 4U);
    EXPECT_TRUE(put(part));
    EXPECT_EQ(test_rings_overwritten(), 7U);
    EXPECT_EQ(test_rings_oldest_part(0), 3U * part);
    EXPECT_EQ(ring.page->newest, 6U * part);
}

TEST_F(Recorder, RefusesWhatNoPartHolds) {
    EXPECT_EQ(reserve(part + 8), nullptr);
    EXPECT_EQ(test_rings_oversized(), 1U);
    EXPECT_EQ(*ring.limit, part);
    EXPECT_TRUE(put(part));
    EXPECT_TRUE(put(part));
}

// Something has interrupted a handler, and filled the whole ring before the handler could go on.
TEST_F(Recorder, WaitsForRecordsThatAreNotComplete) {
    djs_ctx interrupted{};
    djs_record* record = test_rings_reserve(&interrupted, 1, part);
    for (u32 number = 0; number < 3; number++)
        EXPECT_TRUE(put(part));
    for (const bool irqs_off : {false, true}) {
        test_rings_irqs_off = irqs_off;
        EXPECT_EQ(reserve(16), nullptr);
        EXPECT_EQ(test_rings_irqs_off, irqs_off);
    }
    test_rings_irqs_off = false;
    EXPECT_EQ(test_rings_lost(), 2U);
    EXPECT_EQ(*ring.limit, 4U * part);
    EXPECT_EQ(*ring.changing_part, 0U);
    EXPECT_EQ(test_rings_overwritten(), 0U);
    test_rings_commit(&interrupted, record, part);
    EXPECT_EQ(record->size, part);
    EXPECT_TRUE(put(16));
    EXPECT_EQ(test_rings_overwritten(), 1U);
}

TEST_F(Recorder, LooksAtTheLastHeaderOfAPart) {
    EXPECT_TRUE(put(part - 16));
    djs_ctx interrupted{};
    djs_record* record = test_rings_reserve(&interrupted, 1, 16);
    ASSERT_EQ(record, at(part - 16));
    for (u32 number = 0; number < 3; number++)
        EXPECT_TRUE(put(part));
    EXPECT_EQ(reserve(16), nullptr);
    test_rings_commit(&interrupted, record, 16);
    EXPECT_TRUE(put(16));
    EXPECT_EQ(test_rings_overwritten(), 2U);
}

TEST_F(Recorder, LooksAtNoHeaderThatDoesNotFitAPart) {
    EXPECT_TRUE(put(part - 8));
    for (u32 number = 0; number < 3; number++)
        EXPECT_TRUE(put(part));
    EXPECT_TRUE(put(16)); // the last 8 bytes are zero
    EXPECT_EQ(test_rings_overwritten(), 1U);
}

// Its reader may write the records, too. It must not stop the recorder, nor lead it out of a part.
TEST_F(Recorder, ReplacesDamagedRecords) {
    struct {
        u32 first, second;
        u64 overwritten;
    } const damages[] = {
        {8, 0, 0},         // less than a header
        {17, 0, 0},        // no words
        {20, 0, 0},        //
        {part + 8, 0, 0},  // beyond the part
        {~7U, 0, 0},       //
        {16, part - 8, 1}, // the second one goes beyond it
        {16, part - 16, 2}, {24, part - 24, 2}, {16, 8, 1}, {32, 33, 1},
    };
    for (const auto& damage : damages) {
        test_rings_exit();
        test_rings_begin();
        test_rings_overwrite = true;
        make(u64{4} * part);
        fill();
        at(0)->size = damage.first;
        if (damage.second)
            at(damage.first)->size = damage.second;
        memset(at(part), 0, 64); // what follows the part is not looked at
        djs_record* record = reserve(16);
        ASSERT_EQ(record, at(4 * part)) << damage.first << " " << damage.second;
        EXPECT_EQ(test_rings_overwritten(), damage.overwritten)
            << damage.first << " " << damage.second;
        EXPECT_EQ(at(part - 8)->size, 0U);
    }
}

TEST_F(Recorder, DoesNotCountPadding) {
    fill();
    at(0)->size = 16;
    at(16)->size = 32;
    at(16)->id = DJS_RECORD_PADDING;
    at(48)->size = part - 48;
    at(48)->id = 1;
    EXPECT_TRUE(put(16));
    EXPECT_EQ(test_rings_overwritten(), 2U);
}

TEST_F(Recorder, ChangesNothingWhereThereIsRoom) {
    *ring.head = 100 * 8;
    EXPECT_TRUE(test_rings_next_part(part - 800)); // an interrupt has made room, exactly
    EXPECT_EQ(*ring.limit, part);
    EXPECT_EQ(*ring.head, 800U);
    EXPECT_EQ(ring.page->newest, 0U);
    EXPECT_TRUE(test_rings_next_part(part - 800 + 8));
    EXPECT_EQ(*ring.limit, 2U * part);
    EXPECT_EQ(*ring.head, part);
    EXPECT_EQ(ring.page->newest, part);
}

// Whoever arrives in the middle of the change, an NMI, loses its record.
TEST_F(Recorder, IsChangedByOneAtATime) {
    *ring.head = part;
    *ring.changing_part = 1;
    EXPECT_FALSE(test_rings_next_part(16));
    EXPECT_EQ(*ring.changing_part, 1U); // who is interrupted goes on
    EXPECT_EQ(*ring.limit, part);
    *ring.changing_part = 0;
    *ring.head = 0;

    fill();
    std::string places;
    interrupt = [&](const std::string& where) {
        if (!test_rings_irqs_off) // the caller's own reading of the clock
            return;
        EXPECT_EQ(*ring.changing_part, 1U) << where;
        const auto saved = std::move(interrupt);
        interrupt = nullptr;
        djs_ctx of_nmi{};
        // Once the limit is raised, all is as it was but for the mark.
        const bool has_room = test_rings_reserve(&of_nmi, 9, 16) != nullptr;
        EXPECT_EQ(has_room, *ring.limit == 5U * part) << where;
        if (where == "wmb") {
            EXPECT_EQ(ring.page->newest, 3U * part);
            EXPECT_EQ(at(4 * part)->size, 0U); // already zeroed
            EXPECT_EQ(*ring.limit, 4U * part);
        }
        places += where + " ";
        interrupt = saved;
    };
    EXPECT_TRUE(put(64));
    interrupt = nullptr;
    EXPECT_EQ(places, "barrier clock wmb barrier ");
    EXPECT_EQ(test_rings_lost(), 3U);
    EXPECT_EQ(ring.page->newest, 4U * part);
}

TEST_F(Recorder, PadsBehindTheRecordOfWhoInterrupts) {
    EXPECT_TRUE(put(part - 64));
    test_rings_now = 100;
    djs_record* other = nullptr;
    interrupt = [&](const std::string& where) {
        if (where != "clock" || !test_rings_irqs_off)
            return;
        interrupt = nullptr;
        test_rings_now = 200;
        djs_ctx of_nmi{};
        other = test_rings_reserve(&of_nmi, 9, 32); // it fits
        test_rings_now = 300;
    };
    EXPECT_TRUE(put(128));
    ASSERT_EQ(other, at(part - 64));
    EXPECT_EQ(other->id, 9U);
    EXPECT_EQ(other->size, 0U);
    EXPECT_EQ(at(part - 32)->id, DJS_RECORD_PADDING);
    EXPECT_EQ(at(part - 32)->size, 32U);
    EXPECT_EQ(at(part - 32)->time, 300U);
    EXPECT_EQ(at(part)->size, 128U);
}

} // namespace
