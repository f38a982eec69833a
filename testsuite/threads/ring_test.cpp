// SPDX-License-Identifier: GPL-2.0-or-later
// The rings: CPUs write, interrupted at every step, while a reader reads.
#include "session/ring.h"
#include "threads/records.h"

using djstap::Ring;

namespace {

constexpr u64 ring_bytes = 4096; // small, so that records wrap around it often
constexpr u64 patience = 20'000; // for a reader that makes no progress: at least 20 s
constexpr u64 wanted = 15000;    // records of each CPU that are kept

struct Reader {
    explicit Reader(u32 cpus) {
        for (u32 cpu = 0; cpu < cpus; cpu++) {
            char* data;
            djs_ring_page* page = cpus_ring(cpu, &data);
            rings.emplace_back(&page->tail, data, ring_bytes);
            checkers.emplace_back(cpu);
        }
    }
    void read() {
        for (size_t cpu = 0; cpu < rings.size(); cpu++) {
            // Now and then the reader releases memory in the middle of what it consumes.
            while (rings[cpu].state() == Ring::State::Ready) {
                checkers[cpu].check(rings[cpu].record());
                rings[cpu].take();
                if (rings[cpu].is_quarter_taken())
                    rings[cpu].release();
            }
            EXPECT_NE(rings[cpu].state(), Ring::State::Corrupt);
            rings[cpu].release();
        }
    }
    std::vector<Ring> rings;
    std::vector<Checker> checkers;
};

void expect_all(Reader& reader, u32 cpus) {
    u64 lost = 0;
    reader.read();
    for (u32 cpu = 0; cpu < cpus; cpu++) {
        EXPECT_EQ(reader.checkers[cpu].records(), writers[cpu].all_kept()) << "CPU " << cpu;
        EXPECT_EQ(reader.rings[cpu].state(), Ring::State::Empty);
        lost += writers[cpu].all_refused();
    }
    EXPECT_EQ(cpus_lost(), lost);
}

class Rings : public testing::TestWithParam<u32> {};

} // namespace

TEST_P(Rings, RecordsAreWholeAndInOrder) {
    const u32 cpus = GetParam();
    reset_writers();
    Session session(cpus, ring_bytes);
    Reader reader(cpus);
    run_cpus(
        cpus, write_record,
        [](u32 cpu) {
            u64 refused = 0; // in a row
            while (writers[cpu].all_kept() < wanted && refused < patience) {
                refused = writers[cpu].write(LEVEL_TASK) ? 0 : refused + 1;
                if (refused > 1000)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                else if (refused)
                    std::this_thread::yield();
            }
            EXPECT_LT(refused, patience) << "the ring stays full";
        },
        [&] { reader.read(); });
    expect_all(reader, cpus);
    EXPECT_EQ(cpus_oversized(), 0u);
    for (u32 cpu = 0; cpu < cpus; cpu++) {
        EXPECT_GT(writers[cpu].kept[LEVEL_INTERRUPT], 0u);
        EXPECT_GT(writers[cpu].kept[LEVEL_NMI], 0u);
    }
}

// A ring without a reader becomes full, and counts what it refuses; a record that fits no ring is
// counted separately.
TEST_P(Rings, WhatIsNotKeptIsCounted) {
    const u32 cpus = GetParam();
    reset_writers();
    Session session(cpus, ring_bytes);
    Reader reader(cpus);
    run_cpus(
        cpus, write_record,
        [](u32 cpu) {
            for (u32 i = 0; i < 2000; i++)
                writers[cpu].write(LEVEL_TASK);
            EXPECT_EQ(djs_make_room(ring_bytes + 8), 0u);
        },
        [] {});
    for (u32 cpu = 0; cpu < cpus; cpu++) {
        EXPECT_EQ(writers[cpu].kept[0] + writers[cpu].refused[0], 2000u);
        EXPECT_GT(writers[cpu].all_refused(), 0u);
    }
    expect_all(reader, cpus);
    EXPECT_EQ(cpus_oversized(), cpus);
}

// Records of begin and end probes wait for the reader; those of interrupting handlers do not.
TEST_P(Rings, RecordsThatWaitAreNotLost) {
    const u32 cpus = GetParam();
    reset_writers();
    Session session(cpus, ring_bytes);
    Reader reader(cpus);
    run_cpus(
        cpus, write_record,
        [](u32 cpu) {
            Writer& writer = writers[cpu];
            for (u32 i = 0; i < 3000; i++) {
                if (cpu) {
                    writer.write(LEVEL_TASK);
                    continue;
                }
                const u64 words = i % 7;
                const auto size =
                    static_cast<u32>(sizeof(djs_record) + sizeof(Payload) + words * 8);
                djs_record* record = djs_reserve(cpus_session_context(), LEVEL_TASK, size);
                ASSERT_NE(record, nullptr);
                writer.fill(record, LEVEL_TASK, words);
                djs_commit(cpus_session_context(), record, size);
            }
        },
        [&] { reader.read(); });
    EXPECT_EQ(writers[0].kept[LEVEL_TASK], 3000u);
    expect_all(reader, cpus);
}

// Who may write to a ring's first page may write anything there.
TEST(Ring, ATailThatCannotBeIsNotBelieved) {
    Session session(1, ring_bytes);
    run_cpus(
        1, nullptr,
        [](u32 cpu) {
            constexpr u32 size = 64;
            char* data;
            u64* tail = &cpus_ring(cpu, &data)->tail;
            u64 head = 0;
            const auto fill = [&] {
                while (djs_record* record = cpu_reserve_inline(0, size)) {
                    __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
                    head += size;
                }
            };
            const auto has_room = [&](u64 claimed, u32 wanted) {
                __atomic_store_n(tail, claimed, __ATOMIC_RELEASE);
                return djs_make_room(wanted) == 1;
            };
            fill();
            EXPECT_EQ(head, ring_bytes);
            EXPECT_FALSE(has_room(head + 8, size));
            constexpr u64 read = 1024;
            EXPECT_TRUE(has_room(read, size));
            fill();
            EXPECT_EQ(head, ring_bytes + read);
            const u64 lost = cpus_lost();
            for (const u64 wrong : {head + 8, ~u64{7}, read - 8, u64{0}, read + 4, head - 1})
                EXPECT_FALSE(has_room(wrong, 16)) << wrong << " at " << head;
            EXPECT_EQ(cpus_lost(), lost + 6);
            EXPECT_EQ(cpu_reserve_inline(0, 16), nullptr);
            EXPECT_TRUE(has_room(read + 16, 16));
            EXPECT_TRUE(has_room(head, ring_bytes));
        },
        [] {});
}

INSTANTIATE_TEST_SUITE_P(Cpus, Rings, testing::Values(2u, 4u), testing::PrintToStringParamName());
