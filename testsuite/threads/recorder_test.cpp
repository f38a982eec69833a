// SPDX-License-Identifier: GPL-2.0-or-later
// The flight recorder: CPUs overwrite their oldest records while a reader copies them.
#include "session/snapshot.h"
#include "threads/records.h"

using djstap::Snapshot;

namespace {

constexpr u64 ring_bytes = DJS_PARTS_MIN * u64{DJS_PART_BYTES};
constexpr u64 parts_wanted = 200; // parts that each CPU advances by

u64 newest_part(const djs_ring_page& page) {
    return __atomic_load_n(&page.newest, __ATOMIC_RELAXED) / DJS_PART_BYTES;
}

class Recorder : public testing::TestWithParam<u32> {};

// Some interrupts fill the whole ring while the record that they interrupted is open.
void write_records(u32 level) {
    const u64 count = level == LEVEL_INTERRUPT && cpu_random() % 128 == 0 ? 100 : 1;
    for (u64 i = 0; i < count; i++)
        writers[cpu_number()].write(level);
}

// Returns the number of records in a snapshot of a CPU's ring, after checking all of them.
u64 records_in(u32 cpu, decltype(&Snapshot::add_live) add) {
    char* data;
    const djs_ring_page* page = cpus_ring(cpu, &data);
    Snapshot snapshot;
    Checker checker(cpu);
    (snapshot.*add)(*page, data, ring_bytes, cpu);
    EXPECT_EQ(snapshot.damaged(), 0u);
    for (const auto& [record, writer] : snapshot.records()) {
        EXPECT_EQ(writer, cpu);
        checker.check(*record, true);
    }
    return checker.records();
}

} // namespace

// Copying what may be written concurrently is a race that is detected afterwards: the records show
// whether the copy was consistent.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
    return "race:djstap::Snapshot::add_part\n";
}

TEST_P(Recorder, SnapshotsAreWholeAndInOrder) {
    const u32 cpus = GetParam();
    reset_writers();
    Session session(cpus, ring_bytes, true);
    u64 records = 0;
    run_cpus(
        cpus, write_records,
        [](u32 cpu) {
            char* data;
            const djs_ring_page* page = cpus_ring(cpu, &data);
            writers[cpu].max_words = 400;
            u64 refused = 0;
            while (newest_part(*page) < parts_wanted && refused < 100'000)
                refused += !writers[cpu].write(LEVEL_TASK);
            EXPECT_LT(refused, 100'000u) << "no part is used again";
            EXPECT_EQ(djs_make_room(DJS_PART_BYTES + 8), 0u);
        },
        [&] {
            for (u32 cpu = 0; cpu < cpus; cpu++)
                records += records_in(cpu, &Snapshot::add_live);
        });
    u64 kept = 0, refused = 0, found = 0;
    for (u32 cpu = 0; cpu < cpus; cpu++) {
        found += records_in(cpu, &Snapshot::add_still);
        kept += writers[cpu].all_kept();
        refused += writers[cpu].all_refused();
    }
    EXPECT_EQ(found + cpus_overwritten(), kept);
    EXPECT_EQ(cpus_lost(), refused);
    EXPECT_EQ(cpus_oversized(), cpus);
    EXPECT_GT(records, 0u);
}

// A part is used again unless a record of it is still being written. Who may write to its memory
// may write any size there: the part's other records are not looked at then.
TEST(RecorderPart, IsUsedAgainWhateverSizesItHolds) {
    Session session(1, ring_bytes, true);
    run_cpus(
        1, nullptr,
        [](u32 cpu) {
            constexpr u32 size = 64;
            char* data;
            cpus_ring(cpu, &data);
            const auto write = [&](u64 count) {
                for (u64 i = 0; i < count; i++) {
                    djs_record* record = cpu_reserve_inline(0, size);
                    ASSERT_NE(record, nullptr);
                    memset(record + 1, 0, size - sizeof *record);
                    __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
                }
            };
            write(ring_bytes / size);
            u64 overwritten = 0, part = 0;
            const auto use_again = [&](u32 first, u32 second, u64 records) {
                const auto record_at = [&](u64 at) {
                    return reinterpret_cast<djs_record*>(data + part * DJS_PART_BYTES + at);
                };
                djs_record* record = record_at(0);
                record->time = 0; // nobody reads a record there
                for (const u32 open : {0u, first}) {
                    record->size = open;
                    record_at(sizeof *record)->size = size - sizeof *record;
                    record_at(size)->size = second;
                    EXPECT_EQ(djs_make_room(size), open != 0) << first << " " << second;
                }
                overwritten += records;
                EXPECT_EQ(cpus_overwritten(), overwritten) << first << " " << second;
                write(DJS_PART_BYTES / size);
                part = (part + 1) % DJS_PARTS_MIN;
            };
            use_again(size, size, DJS_PART_BYTES / size);
            // One without arguments, and one that has their room.
            use_again(sizeof(djs_record), size, DJS_PART_BYTES / size + 1);
            use_again(8, size, 0);                         // to a time of 0
            use_again(20, size, 0);                        // to the arguments
            use_again(DJS_PART_BYTES + 8, size, 0);        // to another part
            use_again(size, static_cast<u32>(16 - 64), 1); // to the arguments of the first
        },
        [] {});
}

INSTANTIATE_TEST_SUITE_P(Cpus, Recorder, testing::Values(2u, 4u),
                         testing::PrintToStringParamName());
