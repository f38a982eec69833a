// SPDX-License-Identifier: GPL-2.0-or-later
// Records in the rings of processors: what a reader that owns them may do to handlers, what
// interrupts a handler, and how long a session waits for room; and what rings are made of.
#include "globals_for_test.h"
#include "made_up_rings.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {

// ---- what they are made of

TEST_F(Rings, ArePagesOfTheirProcessors) {
    make(2 * TEST_PAGE);
    EXPECT_EQ(test_rings_pages(), 3U);
    for (unsigned long page = 0; page < 3; page++) {
        EXPECT_EQ(test_rings_page(0, page), 1 + page);
        EXPECT_EQ(test_rings_page(2, page), 4 + page);
        EXPECT_EQ(test_rings_node(0, page), 10);
        EXPECT_EQ(test_rings_node(2, page), 12);
    }
    EXPECT_EQ(test_rings_page(0, 3), 0U);
    EXPECT_EQ(test_rings_page(1, 0), 0U); // there is no such processor
    EXPECT_EQ(test_rings_page(3, 0), 0U);
    for (const u32 cpu : {0U, 2U}) {
        const test_ring of = test_ring_of(cpu);
        EXPECT_EQ(*of.head, 0U);
        EXPECT_EQ(*of.limit, 8192U);
        EXPECT_EQ(*of.mask, 8191U);
        // The data is there twice in a row, so that a record may cross the ring's end.
        for (u32 i = 0; i < 8192; i++)
            ASSERT_EQ(of.data[i], 0);
        memset(of.data + 8000, 'x', 8192);
        for (u32 i = 0; i < 8192; i++)
            ASSERT_EQ(of.data[i], 'x') << i;
        EXPECT_EQ(of.page->tail, 0U);
        EXPECT_EQ(of.page->newest, 0U);
    }
}

TEST_F(Rings, OfARecorderBeginWithOnePart) {
    test_rings_overwrite = true;
    make(65536);
    EXPECT_EQ(*ring.limit, 16384U);
    EXPECT_EQ(*ring.mask, 65535U);
    EXPECT_EQ(*test_ring_of(2).limit, 16384U);
}

TEST_F(Rings, AreGoneAfterwards) {
    make(TEST_PAGE);
    EXPECT_EQ(test_rings_pages_left, 4U);
    EXPECT_EQ(test_rings_mappings_left, 2U);
    test_rings_map_page(2, 1, true);
    test_rings_exit();
    for (const u32 cpu : {0U, 2U}) {
        EXPECT_EQ(test_ring_of(cpu).data, nullptr);
        EXPECT_EQ(*test_ring_of(cpu).limit, 0U); // no handler gets a record any more
    }
    EXPECT_EQ(test_rings_pages_left, 1U); // a reader still has it
    test_rings_map_page(2, 1, false);
    test_rings_exit(); // there are none
}

TEST_F(Rings, AreAllOrNone) {
    long allowed = 0;
    for (int error = -ENOMEM; error != 0; allowed++) {
        ASSERT_LT(allowed, 20);
        test_allocations_left = allowed;
        error = test_rings_init(TEST_PAGE);
        test_allocations_left = LONG_MAX;
        EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
        if (error) {
            EXPECT_EQ(guarded_count() + test_rings_pages_left + test_rings_mappings_left, 0U)
                << allowed;
        }
    }
    // The tables of rings and of marker pages; for each processor the table of its pages, these, a
    // mapping and a marker page.
    EXPECT_EQ(allowed - 1, 2 + 2 * (1 + 2 + 1 + 1));
}

TEST_F(Rings, LeaveOthersAQuarterOfTheMemory) {
    // 256 pages, and for each of them two pointers and two entries of page tables: 4 × 8 × 256
    // bytes are two pages more. For two processors, 516 pages, which is at most three quarters of
    // 687, rounded down.
    test_pages_available = 686;
    EXPECT_EQ(test_rings_init(1 << 20), -ENOMEM);
    EXPECT_EQ(guarded_count(), 0U);
    test_pages_available = 687;
    EXPECT_EQ(test_rings_init(1 << 20), 0);
}

// ---- records

TEST_F(Rings, HoldRecordsUntilTheyAreFull) {
    make(TEST_PAGE);
    test_rings_now = 77;
    djs_record* record = reserve(48, 5);
    ASSERT_EQ(record, at(0));
    EXPECT_EQ(record->id, 5U);
    EXPECT_EQ(record->time, 77U);
    EXPECT_EQ(record->size, 0U); // not complete
    EXPECT_EQ(ctx.reserved, 48U);
    EXPECT_EQ(*ring.head, 48U);
    test_rings_commit(&ctx, record, 40);
    EXPECT_EQ(record->size, 48U);             // what was reserved
    EXPECT_EQ(reserve(4096 - 48, 6), at(48)); // exactly what is left
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(*ring.head, 4096U);
    EXPECT_EQ(test_rings_lost(), 1U);
    EXPECT_EQ(*ring.lost, 1U);
    EXPECT_EQ(test_rings_oversized(), 0U);
}

TEST_F(Rings, GoOnWhereTheReaderHasRead) {
    make(TEST_PAGE);
    EXPECT_TRUE(put(4000));
    ring.page->tail = 4000;
    // It crosses the end: the data is there twice.
    djs_record* record = reserve(200);
    ASSERT_EQ(record, at(4000));
    memset(record + 1, 'x', 200 - sizeof(*record));
    EXPECT_EQ(ring.data[103], 'x');
    EXPECT_EQ(ring.data[104], 0);
    EXPECT_EQ(*ring.limit, 4000U + 4096);
    EXPECT_EQ(reserve(3896), at(4200)); // exactly what the reader has left
    EXPECT_EQ(*ring.head, *ring.limit);
    EXPECT_EQ(reserve(16), nullptr);
    ring.page->tail = 4008;
    EXPECT_EQ(reserve(16), nullptr); // 8 bytes
    EXPECT_EQ(*ring.limit, 4008U + 4096);
    EXPECT_EQ(test_rings_lost(), 2U);
}

// The tail is in memory that the reader's process may write. What handlers believe of it decides
// which memory they write.
TEST_F(Rings, AcceptNoForgedTail) {
    make(TEST_PAGE);
    EXPECT_TRUE(put(4000));
    ring.page->tail = 2000;
    EXPECT_TRUE(put(2000));
    ASSERT_EQ(*ring.head, 6000U);
    ASSERT_EQ(*ring.limit, 6096U);
    // Before the last one, behind the head, or within a word.
    for (const u64 tail : {0ull, 1992ull, 1999ull, 6001ull, 6008ull, 8192ull, 1ull << 63, ~0ull - 7,
                           2001ull, 2002ull, 2004ull, 2100ull}) {
        ring.page->tail = tail;
        EXPECT_EQ(reserve(104), nullptr) << tail;
        EXPECT_EQ(*ring.limit, 6096U) << tail;
        EXPECT_EQ(*ring.head, 6000U) << tail;
    }
    EXPECT_EQ(reserve(96), at(6000)); // nobody looks at it while there is room
    EXPECT_EQ(*ring.limit, 6096U);
    ring.page->tail = 2000; // as it was: nothing has been read
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(*ring.limit, 6096U);
    ring.page->tail = 2008;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(*ring.limit, 6104U);
    ring.page->tail = 2016;
    EXPECT_EQ(reserve(16), at(6096));
    ring.page->tail = *ring.head; // all has been read
    EXPECT_EQ(reserve(4096), at(6112));
}

TEST_F(Rings, CountRecordsThatNoRingHolds) {
    make(TEST_PAGE);
    EXPECT_EQ(reserve(4096 + 8), nullptr);
    EXPECT_EQ(test_rings_oversized(), 1U);
    EXPECT_EQ(test_rings_lost(), 0U);
    *ring.limit = 1 << 20; // as if there were that much room
    EXPECT_EQ(test_rings_make_room(4096 + 8), 0U);
    EXPECT_EQ(test_rings_oversized(), 2U);
    *ring.limit = 4096;
    *ring.head = 4096;
    EXPECT_EQ(test_rings_make_room(4096), 0U);
    EXPECT_EQ(test_rings_oversized(), 2U);
    EXPECT_EQ(test_rings_lost(), 1U);
    ring.page->tail = 4096;
    EXPECT_EQ(test_rings_make_room(4096), 1U);
    EXPECT_EQ(test_rings_lost(), 1U);
    EXPECT_EQ(*ring.head, 4096U); // it is not reserved
    // Of all processors.
    *test_ring_of(2).lost = 10;
    *test_ring_of(2).oversized = 20;
    *test_ring_of(2).overwritten = 30;
    EXPECT_EQ(test_rings_lost(), 11U);
    EXPECT_EQ(test_rings_oversized(), 22U);
    EXPECT_EQ(test_rings_overwritten(), 30U);
}

TEST_F(Rings, PlaceRecordsInTheOrderOfTheirTimes) {
    make(TEST_PAGE);
    djs_record* other = nullptr;
    interrupt = [&](const std::string&) {
        interrupt = nullptr;
        test_rings_now = 2000;
        djs_ctx of_interrupt{};
        other = test_rings_reserve(&of_interrupt, 9, 32);
        test_rings_commit(&of_interrupt, other, 32);
        test_rings_now = 3000;
    };
    djs_record* record = reserve(64);
    ASSERT_EQ(other, at(0));
    ASSERT_EQ(record, at(32));
    EXPECT_EQ(other->time, 2000U);
    EXPECT_EQ(other->size, 32U);
    EXPECT_EQ(record->time, 3000U);
    EXPECT_EQ(record->size, 0U);
    EXPECT_EQ(*ring.head, 96U);
}

TEST_F(Rings, LetTheSchedulerRunOnce) {
    test_rings_reschedule();
    EXPECT_EQ(test_preempt_depth, 0);
}

// ---- the session's own probes, which wait for room

class WaitingForRoom : public Rings {
  protected:
    void SetUp() override {
        Rings::SetUp();
        ctx.can_wait = 1;
        make(TEST_PAGE);
        ASSERT_TRUE(test_reader_comes());
        // The wait for a reader that is stuck is remembered, by the sum of all tails: none of
        // another test's is that of this one.
        static u64 so_far = 0;
        so_far += 1 << 20;
        test_ring_of(2).page->tail = so_far;
        ASSERT_TRUE(put(4096));
        EXPECT_EQ(test_preempt_depth, 0);
    }
};

TEST_F(WaitingForRoom, EndsWhenThereIsSome) {
    asleep = [&] {
        EXPECT_EQ(test_preempt_depth, 0);
        if (test_rings_sleeps == 5)
            ring.page->tail = 16;
    };
    djs_record* record = reserve(16);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(test_rings_sleeps, 5U);
    EXPECT_EQ(test_preempt_depth, 1); // nobody else writes here until it is complete
    test_rings_commit(&ctx, record, 16);
    EXPECT_EQ(test_preempt_depth, 0);
    EXPECT_EQ(record->size, 16U);
    EXPECT_EQ(test_rings_lost(), 0U);
}

TEST_F(WaitingForRoom, TakesTwoSecondsIfTheReaderIsStuck) {
    const unsigned long begin = test_rings_jiffies;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_jiffies - begin, 2UL * TEST_HZ + 1);
    EXPECT_EQ(test_rings_lost(), 1U);
    // The next one does not wait as long again, but tries.
    test_rings_sleeps = 0;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    // Meanwhile the reader has read something, but not enough; it is stuck again.
    ring.page->tail = 8;
    unsigned long since = test_rings_jiffies;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_jiffies - since, 2UL * TEST_HZ + 1);
    test_rings_sleeps = 0;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    EXPECT_EQ(test_rings_lost(), 4U);
}

TEST_F(WaitingForRoom, LastsAsLongAsTheReaderReads) {
    // It reads one of the other processors' rings, every second.
    unsigned long since = test_rings_jiffies;
    const unsigned long begin = since;
    int left = 10;
    asleep = [&] {
        if (left && test_rings_jiffies - since >= TEST_HZ) {
            since = test_rings_jiffies;
            test_ring_of(2).page->tail += 8;
            left--;
        }
    };
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(left, 0);
    EXPECT_EQ(since - begin, 10UL * TEST_HZ);
    EXPECT_EQ(test_rings_jiffies - since, 2UL * TEST_HZ + 1);
    // One that was stuck, and reads again while the next one tries: this waits as the first.
    left = 1;
    ring.page->tail = 8;
    test_ring_of(2).page->tail -= 8; // the sum is as before
    since = test_rings_jiffies;
    test_rings_sleeps = 0;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    EXPECT_EQ(left, 1);
}

TEST_F(WaitingForRoom, BeginsAnewWhenTheReaderHasReadSomething) {
    EXPECT_EQ(reserve(16), nullptr); // stuck
    bool reads = true;
    unsigned long since = 0;
    test_ring_of(2).page->tail += 8;
    asleep = [&] {
        if (reads)
            test_ring_of(2).page->tail -= 8; // back where it was stuck
        if (reads)
            since = test_rings_jiffies;
        reads = false;
    };
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_jiffies - since, 2UL * TEST_HZ + 1);
}

TEST_F(WaitingForRoom, IsForReadersAlone) {
    test_reader_goes();
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    asleep = [&] { test_reader_goes(); };
    EXPECT_TRUE(test_reader_comes());
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 1U);
    EXPECT_EQ(test_rings_lost(), 2U);
}

TEST_F(WaitingForRoom, IsNotForWhatNoRingHolds) {
    EXPECT_EQ(reserve(4096 + 8), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    EXPECT_EQ(test_rings_oversized(), 1U);
    // One of the largest size is waited for.
    asleep = [&] { ring.page->tail = 4096; };
    EXPECT_NE(reserve(4096), nullptr);
    EXPECT_EQ(test_rings_sleeps, 1U);
    test_rings_commit(&ctx, at(0), 4096);
}

TEST_F(WaitingForRoom, EndsWithTheTask) {
    test_rings_killed = true;
    EXPECT_EQ(reserve(16), nullptr);
    EXPECT_EQ(test_rings_sleeps, 0U);
    EXPECT_EQ(test_rings_lost(), 1U);
}

// ---- crash dumps

TEST_F(Rings, AreFoundInCrashDumps) {
    test_rings_load_time = {11, 22, 33, 44, 0};
    test_rings_overwrite = true;
    make(4 << 20);
    // 1024 pages of data and the first one, of which a marker page lists 502.
    ASSERT_EQ(test_rings_dump_pages(), 6U);
    for (u32 number = 0; number < 6; number++) {
        const djs_dump_page* page = test_rings_dump_page(number);
        EXPECT_EQ(std::string(page->magic, 16), std::string("djstap rings \x01\x02\x05"));
        EXPECT_EQ(page->identity, 0xaf63dc4c8601ec8cU); // FNV-1a of "a"
        EXPECT_EQ(page->ring_bytes, 4U << 20);
        EXPECT_EQ(page->cpu, number < 3 ? 0U : 2U);
        EXPECT_EQ(page->first, number % 3 * 502);
        EXPECT_EQ(page->count, number % 3 < 2 ? 502U : 21U);
        EXPECT_EQ(page->overwrite, 1U);
        EXPECT_EQ(page->clock.cycles, 11U);
        EXPECT_EQ(page->clock.monotonic_ns, 22U);
        EXPECT_EQ(page->clock.realtime_ns, 33U);
        EXPECT_EQ(page->clock.cycles_khz, 44U);
        for (u32 i = 0; i < page->count; i++)
            ASSERT_EQ(page->frames[i], 1000 + test_rings_page(page->cpu, page->first + i));
        for (u32 i = page->count; i < 502; i++)
            ASSERT_EQ(page->frames[i], 0U);
    }
    test_rings_exit();
    EXPECT_EQ(test_rings_dumps_freed_with_text, 0U); // a later dump does not find them
    test_rings_overwrite = false;
    make(TEST_PAGE);
    ASSERT_EQ(test_rings_dump_pages(), 2U);
    EXPECT_EQ(test_rings_dump_page(1)->overwrite, 0U);
    EXPECT_EQ(test_rings_dump_page(1)->count, 2U);
}

TEST(DumpPages, ListTheTableOfSymbols) {
    test_rings_begin();
    djs_script.meta = "";
    constexpr unsigned long pages = 503;
    struct Area {
        char* memory = test_vmalloc(pages * TEST_PAGE);
    } area;
    ASSERT_EQ(test_dump_symbols_add(area.memory, pages), 0);
    ASSERT_EQ(test_rings_dump_pages(), 2U);
    for (u32 number = 0; number < 2; number++) {
        const djs_dump_page* page = test_rings_dump_page(number);
        EXPECT_EQ(std::string(page->magic, 16), std::string("djstap rings \x01\x02\x05"));
        EXPECT_EQ(page->identity, 0xcbf29ce484222325U); // FNV-1a of nothing
        EXPECT_EQ(page->ring_bytes, pages * TEST_PAGE);
        EXPECT_EQ(page->cpu, ~0U);
        EXPECT_EQ(page->first, number * 502);
        EXPECT_EQ(page->count, number ? 1U : 502U);
        for (u32 i = 0; i < page->count; i++)
            ASSERT_EQ(page->frames[i],
                      test_vmalloc_page(area.memory + (page->first + i) * TEST_PAGE));
    }
    test_dump_symbols_exit();
    EXPECT_EQ(guarded_count(), 0U);
    test_dump_symbols_exit();
    for (long allowed = 0; allowed < 3; allowed++) {
        test_allocations_left = allowed;
        EXPECT_EQ(test_dump_symbols_add(area.memory, pages), -ENOMEM);
        test_allocations_left = LONG_MAX;
        test_dump_symbols_exit();
        EXPECT_EQ(guarded_count(), 0U);
    }
    EXPECT_EQ(test_rings_dumps_freed_with_text, 0U);
    test_vfree(area.memory);
    EXPECT_EQ(test_rings_pages_left, 0U);
    djs_script = {};
}

} // namespace
