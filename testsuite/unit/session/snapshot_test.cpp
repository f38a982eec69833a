// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of a flight recorder's ring, against writers that behave like handlers.
#include "dump_fixture.h"
#include "session/snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <unistd.h>

using namespace djstap;

namespace {

std::vector<uint64_t> times(const Snapshot& snapshot) {
    std::vector<uint64_t> out;
    for (const auto& [record, cpu] : snapshot.records())
        out.push_back(record->time);
    return out;
}

TEST(Snapshot, HasAllThatWasWrittenUntilTheRingIsFull) {
    FakeRecorder ring;
    for (uint64_t i = 0; i < 100; i++)
        ring.write(24 + 8 * (i % 5), 0, i);
    Snapshot snapshot;
    snapshot.add_live(ring.page, ring.data.data(), ring_bytes);
    const auto all = times(snapshot);
    ASSERT_EQ(all.size(), 100u);
    EXPECT_EQ(all.back(), 99u);
    EXPECT_EQ(snapshot.damaged(), 0u);
}

TEST(Snapshot, KeepsTheNewestPartsOnly) {
    FakeRecorder ring;
    for (uint64_t i = 0; i < 10000; i++)
        ring.write(64, 0, i);
    Snapshot live, still;
    live.add_live(ring.page, ring.data.data(), ring_bytes);
    still.add_still(ring.page, ring.data.data(), ring_bytes);
    const auto all = times(live), more = times(still);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.back(), 9999u);
    EXPECT_EQ(all.back() - all.front() + 1, all.size()) << "no gaps";
    EXPECT_EQ(more.back(), 9999u);
    EXPECT_EQ(more.size(), all.size() + DJS_PART_BYTES / 64) << "the oldest part too";
}

TEST(Snapshot, EndsAPartAtARecordThatIsNotComplete) {
    FakeRecorder ring;
    ring.write(32, 0, 1);
    ring.reserve(32, 0, 2);
    ring.write(32, 0, 3);
    Snapshot snapshot;
    snapshot.add_live(ring.page, ring.data.data(), ring_bytes);
    EXPECT_EQ(times(snapshot), (std::vector<uint64_t>{1}));
}

TEST(Snapshot, OrdersCpusByTime) {
    FakeRecorder a, b;
    for (uint64_t i = 0; i < 50; i++)
        (i % 3 ? a : b).write(24, 0, i);
    Snapshot snapshot;
    snapshot.add_live(a.page, a.data.data(), ring_bytes);
    snapshot.add_live(b.page, b.data.data(), ring_bytes);
    const auto all = times(snapshot);
    ASSERT_EQ(all.size(), 50u);
    for (uint64_t i = 0; i < 50; i++)
        EXPECT_EQ(all[i], i);
}

// Records of the same time are in the order in which their CPU wrote them.
TEST(Snapshot, KeepsTheOrderOfRecordsOfTheSameTime) {
    FakeRecorder a, b;
    for (uint32_t i = 0; i < 50; i++) {
        a.write(24, i, 7);
        b.write(24, 100 + i, 7);
    }
    Snapshot snapshot;
    snapshot.add_live(a.page, a.data.data(), ring_bytes);
    snapshot.add_live(b.page, b.data.data(), ring_bytes);
    const auto all = snapshot.records();
    ASSERT_EQ(all.size(), 100u);
    for (uint32_t i = 0; i < 100; i++)
        EXPECT_EQ(all[i].record->id, i < 50 ? i : 50 + i);
}

TEST(Snapshot, OfARingThatWasReadHasWhatIsLeft) {
    constexpr uint64_t bytes = 4096;
    std::vector<char> data(bytes);
    const auto put = [&](uint64_t at, uint32_t size, uint64_t time) {
        djs_record record{};
        record.size = size;
        record.time = time;
        std::memcpy(&data[at % bytes], &record, sizeof record);
    };
    // From the tail over the end to where nothing is.
    djs_ring_page page{};
    page.tail = 2 * bytes - 64;
    put(bytes - 64, 32, 1);
    put(bytes - 32, 32, 2);
    put(0, 48, 3);
    Snapshot snapshot;
    snapshot.add_unread(page, data.data(), bytes, 7);
    EXPECT_EQ(times(snapshot), (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(snapshot.records().front().cpu, 7u);
    EXPECT_EQ(snapshot.damaged(), 0u);
    put(48, 20, 4);
    Snapshot damaged;
    damaged.add_unread(page, data.data(), bytes, 7);
    EXPECT_EQ(times(damaged), (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(damaged.damaged(), 1u);
}

TEST(Snapshot, NonsenseIsCountedAndNeverReadBeyond) {
    for (uint32_t size : {1u, 8u, 12u, 25u, DJS_PART_BYTES + 8, 0xfffffff8u}) {
        FakeRecorder ring;
        ring.write(32, 0, 1);
        djs_record* record = ring.reserve(32, 0, 2);
        record->size = size;
        Snapshot snapshot;
        snapshot.add_live(ring.page, ring.data.data(), ring_bytes);
        EXPECT_EQ(times(snapshot), (std::vector<uint64_t>{1})) << size;
        EXPECT_EQ(snapshot.damaged(), 1u) << size;
    }
    FakeRecorder ring;
    ring.page.newest = 24;
    Snapshot snapshot;
    snapshot.add_live(ring.page, ring.data.data(), ring_bytes);
    EXPECT_EQ(snapshot.damaged(), 1u);
}

TEST(Snapshot, IsConsistentWhileRecordsAreWritten) {
    FakeRecorder ring;
    std::atomic<bool> go_on{true};
    uint64_t written = 0;
    std::jthread writer([&] {
        while (go_on) {
            ++written;
            ring.write(24 + 8 * (written % 7), 0, written);
        }
    });
    const auto stop = std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)>(
        &go_on, [](std::atomic<bool>* flag) { *flag = false; });
    // Returns the newest record's number; 0 if all were overwritten meanwhile.
    auto newest = [&]() -> uint64_t {
        Snapshot snapshot;
        snapshot.add_live(ring.page, ring.data.data(), ring_bytes);
        EXPECT_EQ(snapshot.damaged(), 0u);
        uint64_t before = 0;
        for (const auto& [record, cpu] : snapshot.records()) {
            uint64_t content;
            std::memcpy(&content, reinterpret_cast<const char*>(record) + record->size - 8, 8);
            EXPECT_EQ(content, record->time);
            EXPECT_TRUE(before == 0 || record->time == before + 1);
            before = record->time;
        }
        return before;
    };
    // Some hundred times around the ring.
    for (uint64_t latest = 0; latest < 300000 && !HasFailure();)
        latest = std::max(latest, newest());
    go_on = false;
    writer.join();
    EXPECT_EQ(newest(), written);
}

} // namespace
