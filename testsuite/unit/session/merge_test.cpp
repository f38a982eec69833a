// SPDX-License-Identifier: GPL-2.0-or-later
// The rings' reader against writers that behave like handlers, in threads.
#include "session/merge.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <x86intrin.h>

using namespace djstap;

namespace {

// A ring in memory, its data mapped twice in a row like ControlFile does.
class FakeRing {
  public:
    explicit FakeRing(uint64_t bytes) : bytes_(bytes) {
        const int fd = memfd_create("ring", 0);
        EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
        data_ = static_cast<char*>(
            mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (uint64_t half : {uint64_t{0}, bytes})
            mmap(data_ + half, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        close(fd);
    }
    ~FakeRing() { munmap(data_, 2 * bytes_); }
    FakeRing(const FakeRing&) = delete;
    FakeRing& operator=(const FakeRing&) = delete;

    Ring reader(uint32_t cpu = 0) { return Ring(&tail_, data_, bytes_, cpu); }
    // Of a program's thread, which may leave a record for good.
    Ring reader_of_program() { return Ring(&tail_, data_, bytes_, 0, &head_); }

    djs_record* reserve(uint32_t size, uint32_t id, uint64_t time) {
        if (head_ + size > __atomic_load_n(&tail_, __ATOMIC_ACQUIRE) + bytes_)
            return nullptr;
        auto* record = reinterpret_cast<djs_record*>(data_ + (head_ & (bytes_ - 1)));
        for (const char* byte = reinterpret_cast<char*>(record);
             byte < reinterpret_cast<char*>(record) + size; byte++)
            if (*byte)
                dirty++;
        head_ += size;
        record->id = id;
        __atomic_store_n(&record->time, time, __ATOMIC_RELAXED);
        return record;
    }
    static void commit(djs_record* record, uint32_t size) {
        __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
    }
    void write(uint64_t time, uint32_t id = 0, uint32_t size = 24) {
        auto* record = reserve(size, id, time);
        ASSERT_NE(record, nullptr);
        commit(record, size);
    }
    char* data() { return data_; }

    int dirty = 0; // bytes that were not zero when they were reserved

  private:
    uint64_t bytes_;
    char* data_;
    uint64_t tail_ = 0;
    uint64_t head_ = 0;
};

std::vector<uint64_t> times(RecordMerger& merger, uint64_t now,
                            RecordMerger::Sweep* sweep = nullptr) {
    std::vector<uint64_t> all;
    const auto done =
        merger.sweep(now, [&](const Ring& ring) { all.push_back(ring.record().time); });
    if (sweep)
        *sweep = done;
    return all;
}

using Times = std::vector<uint64_t>;

} // namespace

TEST(Merge, HoldsBackWhatAnOlderRecordMayStillPrecede) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    a.write(100);
    a.write(300);
    RecordMerger::Sweep sweep;
    EXPECT_EQ(times(merger, 400, &sweep), Times{});
    EXPECT_TRUE(sweep.pending);
    b.write(200);
    b.write(450);
    EXPECT_EQ(times(merger, 500), (Times{100, 200, 300}));
    EXPECT_EQ(times(merger, 600), (Times{450}));
    EXPECT_EQ(times(merger, 700, &sweep), Times{});
    EXPECT_FALSE(sweep.pending);
}

// A sweep passes on what is as old as the sweep before it.
TEST(Merge, PassesOnWhatWasWrittenAtTheMomentOfASweep) {
    FakeRing a(4096);
    RecordMerger merger({a.reader()});
    a.write(400);
    EXPECT_EQ(times(merger, 400), Times{});
    EXPECT_EQ(times(merger, 500), Times{400});
}

TEST(Merge, WaitsForARecordThatIsBeingWritten) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    auto* slow = a.reserve(32, 0, 150);
    b.write(100);
    b.write(200);
    times(merger, 1000);
    EXPECT_EQ(times(merger, 2000), (Times{100}));
    EXPECT_EQ(times(merger, 3000), Times{});
    FakeRing::commit(slow, 32);
    EXPECT_EQ(times(merger, 4000), (Times{150, 200}));
}

TEST(Merge, DoesNotWaitForeverAndCountsWhatNeverCame) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    a.reserve(32, 0, 150);
    b.write(200);
    times(merger, 1000);
    times(merger, 2000);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(times(merger, 3000), (Times{200}));
    const auto last = merger.last_sweep([](const Ring&) { FAIL(); });
    EXPECT_EQ(last.unfinished, 1u);
    EXPECT_EQ(last.abandoned, 0u) << "how long it is, nobody knows";
    EXPECT_TRUE(last.corrupt.empty());
}

TEST(Merge, PassesOverWhatAProgramHasLeftForGood) {
    FakeRing a(4096);
    RecordMerger merger({a.reader_of_program()});
    a.write(1);
    FakeRing::commit(a.reserve(40, 0, 2), 40 | DJS_RECORD_IN_FLIGHT);
    a.write(3);
    std::memset(a.reserve(48, 0, 4), 0, 48); // nothing was written at all
    a.write(5);
    times(merger, 10);
    EXPECT_EQ(times(merger, 20), Times{1}) << "it may be completed yet";
    FakeRing::commit(a.reserve(24, 0, 6), 24 | DJS_RECORD_IN_FLIGHT);
    Times all;
    const auto last =
        merger.last_sweep([&](const Ring& ring) { all.push_back(ring.record().time); });
    EXPECT_EQ(all, (Times{3, 5}));
    EXPECT_EQ(last.unfinished, 3u);
    EXPECT_EQ(last.abandoned, 2u) << "nothing follows the third one";
    EXPECT_TRUE(last.corrupt.empty());
    a.write(7);
    all.clear();
    merger.last_sweep([&](const Ring& ring) { all.push_back(ring.record().time); });
    EXPECT_EQ(all, Times{7});
    EXPECT_EQ(a.dirty, 0);
}

TEST(Merge, LastSweepPassesEverythingInOrder) {
    FakeRing a(4096), b(4096), c(4096);
    RecordMerger merger({a.reader(), b.reader(), c.reader()});
    for (uint64_t i = 0; i < 60; i++)
        (i % 3 == 0 ? a : i % 3 == 1 ? b : c).write(i + 1);
    a.write(1000, DJS_RECORD_PADDING);
    Times all;
    merger.last_sweep([&](const Ring& ring) { all.push_back(ring.record().time); });
    ASSERT_EQ(all.size(), 60u);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

// As many CPUs as there may be, each with its own times.
TEST(Merge, PassesTheRecordsOfManyCpusInOrder) {
    constexpr size_t cpus = 37;
    std::vector<std::unique_ptr<FakeRing>> rings;
    std::vector<Ring> readers;
    std::mt19937_64 random(7); // NOLINT(cert-msc51-cpp): the same cases every time
    Times expected;
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        rings.push_back(std::make_unique<FakeRing>(4096));
        uint64_t time = 1;
        for (uint32_t i = 0; i < cpu % 23 + 1; i++) {
            time += random() % 100;
            expected.push_back(time);
            rings.back()->write(time);
        }
        readers.push_back(rings.back()->reader(cpu));
    }
    std::ranges::sort(expected);
    RecordMerger merger(std::move(readers));
    Times all;
    merger.last_sweep([&](const Ring& ring) { all.push_back(ring.record().time); });
    EXPECT_EQ(all, expected);
}

TEST(Merge, GivesAQuarterOfARingBackAtOnce) {
    FakeRing a(4096);
    for (uint64_t i = 1; i <= 128; i++)
        a.write(i, 0, 32);
    RecordMerger merger({a.reader()});
    std::vector<bool> has_room;
    const auto sweep = merger.last_sweep([&](const Ring& ring) {
        if (ring.record().time == 32 || ring.record().time == 33)
            has_room.push_back(a.reserve(32, 0, 200) != nullptr);
    });
    EXPECT_EQ(has_room, (std::vector<bool>{false, true}));
    EXPECT_TRUE(sweep.full);
}

TEST(Merge, GivesAllBackThatItHasPassedOn) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    for (uint64_t i = 1; i <= 3; i++) {
        a.write(i);
        b.write(10 + i);
    }
    EXPECT_EQ(times(merger, 12), Times{});
    EXPECT_EQ(times(merger, 20), (Times{1, 2, 3, 11, 12}));
    EXPECT_EQ(b.reserve(4096, 0, 30), nullptr) << "its last record is not read yet";
    EXPECT_NE(a.reserve(4096, 0, 30), nullptr);
    EXPECT_EQ(a.dirty, 0);
    EXPECT_NE(b.reserve(4096 - 24, 0, 30), nullptr);
    EXPECT_EQ(b.dirty, 0);
}

TEST(Merge, IsNotFullWithLessThanAQuarterOfARing) {
    FakeRing a(4096);
    for (uint64_t i = 1; i <= 31; i++)
        a.write(i, 0, 32);
    RecordMerger merger({a.reader()});
    EXPECT_FALSE(merger.last_sweep([](const Ring&) {}).full);
}

TEST(Merge, CountsRecordsAndWhatIsLeft) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    a.write(1);
    a.write(2, DJS_RECORD_PADDING);
    b.write(3);
    b.reserve(24, 0, 4);
    const auto sweep = merger.last_sweep([](const Ring&) {});
    EXPECT_EQ(sweep.records, 2u);
    EXPECT_EQ(sweep.unfinished, 1u);
    EXPECT_TRUE(sweep.pending);
}

TEST(Merge, TakesTheLowerCpuOfTwoAtTheSameTime) {
    FakeRing a(4096), b(4096);
    RecordMerger merger({a.reader(), b.reader()});
    b.write(5, 11);
    a.write(5, 10);
    std::vector<uint32_t> ids;
    merger.last_sweep([&](const Ring& ring) { ids.push_back(ring.record().id); });
    EXPECT_EQ(ids, (std::vector<uint32_t>{10, 11}));
}

TEST(Merge, NonsenseSizesStopTheRingOfOneCpuOnly) {
    for (uint32_t size : {1u, 8u, 12u, 25u, 4104u, 0xfffffff8u, 0xffffffffu}) {
        FakeRing a(4096), b(4096);
        RecordMerger merger({a.reader(2), b.reader(5)});
        a.write(1);
        FakeRing::commit(a.reserve(24, 0, 2), size);
        b.write(3);
        Times all;
        const auto sink = [&](const Ring& ring) { all.push_back(ring.record().time); };
        auto sweep = merger.last_sweep(sink);
        EXPECT_EQ(all, (Times{1, 3})) << size;
        EXPECT_EQ(sweep.corrupt, (std::vector<uint32_t>{2})) << size;
        b.write(4);
        sweep = merger.last_sweep(sink);
        EXPECT_TRUE(sweep.corrupt.empty()) << "reported once";
        EXPECT_EQ(all.back(), 4u);
    }
}

TEST(Merge, RandomMemoryNeverReadsOutside) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; round++) {
        FakeRing a(4096);
        for (size_t i = 0; i < 4096; i += 4) {
            const uint32_t word = random() % 4 ? static_cast<uint32_t>(random() % 64)
                                               : static_cast<uint32_t>(random());
            std::memcpy(a.data() + i, &word, sizeof(word));
        }
        RecordMerger merger({a.reader()});
        size_t bytes = 0;
        merger.last_sweep([&](const Ring& ring) { bytes += ring.record().size; });
        EXPECT_LE(bytes, 4096u);
    }
}

TEST(Merge, ConcurrentWritersComeOutCompleteAndInOrder) {
    constexpr int writers = 3;
    constexpr uint64_t each = 30000;
    std::vector<std::unique_ptr<FakeRing>> rings;
    std::vector<Ring> readers;
    for (int i = 0; i < writers; i++) {
        rings.push_back(std::make_unique<FakeRing>(16384));
        readers.push_back(rings.back()->reader());
    }
    RecordMerger merger(std::move(readers));
    // A handler runs with preemption disabled, so no sweep begins and ends between its read of the
    // clock and its reservation. A thread cannot do so: the sweeper waits for it.
    std::array<std::mutex, writers> preemption_off;
    std::atomic<int> running{writers};
    std::vector<std::thread> threads;
    for (int i = 0; i < writers; i++) {
        threads.emplace_back([&, i] {
            std::mt19937 random(static_cast<unsigned>(i));
            FakeRing& ring = *rings[static_cast<size_t>(i)];
            for (uint64_t n = 0; n < each;) {
                const uint32_t size = 24 + 8 * (random() % 30);
                djs_record* record;
                {
                    std::lock_guard handler(preemption_off[static_cast<size_t>(i)]);
                    record = ring.reserve(size, static_cast<uint32_t>(i), __rdtsc());
                }
                if (!record) {
                    std::this_thread::yield();
                    continue;
                }
                std::memcpy(record + 1, &n, sizeof(n));
                if (random() % 64 == 0)
                    std::this_thread::yield();
                FakeRing::commit(record, size);
                n++;
            }
            running--;
        });
    }
    std::vector<uint64_t> next(writers);
    uint64_t latest = 0;
    size_t disorder = 0, gaps = 0;
    const auto sink = [&](const Ring& ring) {
        const djs_record& record = ring.record();
        uint64_t number;
        std::memcpy(&number, &record + 1, sizeof(number));
        gaps += number != next[record.id]++;
        disorder += record.time < latest;
        latest = std::max(latest, record.time);
    };
    while (running) {
        for (auto& handler : preemption_off)
            std::lock_guard done(handler);
        if (!merger.sweep(__rdtsc(), sink).records)
            std::this_thread::yield();
    }
    for (auto& thread : threads)
        thread.join();
    merger.last_sweep(sink);
    EXPECT_EQ(gaps, 0u);
    EXPECT_EQ(disorder, 0u);
    for (int i = 0; i < writers; i++) {
        EXPECT_EQ(next[static_cast<size_t>(i)], each);
        EXPECT_EQ(rings[static_cast<size_t>(i)]->dirty, 0);
    }
}
