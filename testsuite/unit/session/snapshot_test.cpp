// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of a flight recorder's ring, against writers that behave like handlers.
#include "session/dump_file.h"
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

constexpr uint64_t ring_bytes = 16 * DJS_PART_BYTES;

// Writes like runtime/record/recorder.c.
class FakeRecorder {
  public:
    djs_record* reserve(uint32_t size, uint32_t id, uint64_t time) {
        if (head_ + size > limit_)
            next_part(time);
        auto* record = reinterpret_cast<djs_record*>(&data[head_ % ring_bytes]);
        head_ += size;
        record->id = id;
        record->time = time;
        return record;
    }
    void write(uint32_t size, uint32_t id, uint64_t time) {
        djs_record* record = reserve(size, id, time);
        for (uint32_t at = sizeof(djs_record); at < size; at += 8)
            std::memcpy(reinterpret_cast<char*>(record) + at, &time, 8);
        __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
    }

    djs_ring_page page{};
    std::vector<char> data = std::vector<char>(ring_bytes);

  private:
    void next_part(uint64_t time) {
        std::memset(&data[limit_ % ring_bytes], 0, DJS_PART_BYTES);
        if (limit_ - head_ >= sizeof(djs_record)) {
            auto* rest = reinterpret_cast<djs_record*>(&data[head_ % ring_bytes]);
            rest->id = DJS_RECORD_PADDING;
            rest->time = time;
            __atomic_store_n(&rest->size, static_cast<uint32_t>(limit_ - head_), __ATOMIC_RELEASE);
        }
        head_ = limit_;
        __atomic_store_n(&page.newest, limit_, __ATOMIC_RELEASE);
        limit_ += DJS_PART_BYTES;
    }

    uint64_t head_ = 0, limit_ = DJS_PART_BYTES;
};

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

// A core file of a machine with one ring in scattered pages.
class DumpFile : public testing::Test {
  protected:
    static constexpr uint64_t page = 4096, base = 0x100000;

    void SetUp() override {
        path = testing::TempDir() + "djstap-dump-" + std::to_string(getpid());
        memory.resize(128 * page);
        for (uint64_t i = 0; i < 500; i++)
            ring.write(64, 0, i);
        // The ring's page is at frame 3, its data in every second frame from 6 on, backwards.
        std::memcpy(&memory[3 * page], &ring.page, sizeof ring.page);
        djs_dump_page told{};
        std::memcpy(told.magic, DJS_DUMP_MAGIC, sizeof told.magic);
        told.identity = 77;
        told.ring_bytes = ring_bytes;
        told.cpu = 2;
        told.overwrite = 1;
        told.count = 1 + ring_bytes / page;
        told.frames[0] = base / page + 3;
        for (uint64_t i = 0; i < ring_bytes / page; i++) {
            const uint64_t frame = 6 + (ring_bytes / page - 1 - i);
            std::memcpy(&memory[frame * page], &ring.data[i * page], page);
            told.frames[1 + i] = base / page + frame;
        }
        std::memcpy(&memory[120 * page], &told, sizeof told);
    }
    void TearDown() override { unlink(path.c_str()); }

    // The memory in one segment, or in these: where each begins, in the order of the file.
    void save(uint16_t type = ET_CORE, const std::vector<uint64_t>& begins = {0},
              uint64_t moved = 0) {
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_type = type;
        header.e_machine = EM_X86_64;
        header.e_phoff = sizeof header;
        // The first one is none that has memory.
        header.e_phnum = static_cast<uint16_t>(1 + begins.size());
        std::vector<Elf64_Phdr> segments(1);
        segments[0].p_type = PT_NOTE;
        segments[0].p_filesz = sizeof header;
        uint64_t offset = sizeof header + header.e_phnum * sizeof(Elf64_Phdr);
        std::string contents;
        for (const uint64_t begin : begins) {
            uint64_t end = memory.size();
            for (const uint64_t other : begins)
                end = other > begin ? std::min(end, other) : end;
            Elf64_Phdr& segment = segments.emplace_back();
            segment.p_type = PT_LOAD;
            segment.p_offset = offset;
            segment.p_paddr = base + begin + moved;
            segment.p_filesz = end - begin;
            contents.append(&memory[begin], end - begin);
            offset += end - begin;
        }
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<char*>(&header), sizeof header);
        file.write(reinterpret_cast<char*>(segments.data()),
                   static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr)));
        file << contents;
    }
    // The file with a byte of its header changed.
    void change(size_t at, char byte) const {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
    }

    std::string path;
    FakeRecorder ring;
    std::vector<char> memory;
};

TEST_F(DumpFile, FindsARingInScatteredPages) {
    save();
    const auto rings = find_rings(path, 77);
    ASSERT_TRUE(rings) << rings.failure().message;
    ASSERT_EQ(rings->rings.size(), 1u);
    const DumpedRing& found = rings->rings.front();
    EXPECT_EQ(found.cpu, 2u);
    EXPECT_TRUE(found.overwrite);
    EXPECT_EQ(found.missing_pages, 0u);
    EXPECT_EQ(found.data, ring.data);
    Snapshot snapshot;
    snapshot.add_still(found.page, found.data.data(), found.data.size());
    EXPECT_EQ(snapshot.records().size(), 500u);
}

TEST_F(DumpFile, FindsTheTableOfSymbols) {
    djs_dump_page told{};
    std::memcpy(told.magic, DJS_DUMP_MAGIC, sizeof told.magic);
    told.identity = 77;
    told.ring_bytes = 3 * page;
    told.cpu = DJS_DUMP_SYMBOLS;
    told.count = 3;
    told.frames[0] = base / page + 122;
    told.frames[1] = base / page + 119;
    told.frames[2] = 0xfffff;
    memory[122 * page] = 'a';
    memory[119 * page] = 'b';
    std::memcpy(&memory[121 * page], &told, sizeof told);
    save();
    const auto dump = find_rings(path, 77);
    ASSERT_TRUE(dump);
    EXPECT_EQ(dump->rings.size(), 1u);
    ASSERT_EQ(dump->symbols.size(), 3 * page);
    EXPECT_EQ(dump->symbols[0], 'a');
    EXPECT_EQ(dump->symbols[page], 'b');
    EXPECT_EQ(dump->symbols[2 * page], '\0');
    EXPECT_EQ(dump->missing_symbol_pages, 1u);
    std::memset(&memory[120 * page], 0, page);
    save();
    EXPECT_NE(find_rings(path, 77).failure().message.find("no records"), std::string::npos);
}

TEST_F(DumpFile, FindsARingThatSeveralPagesTellOf) {
    djs_dump_page told, last;
    std::memcpy(&told, &memory[120 * page], sizeof told);
    last = told;
    last.first = --told.count; // of one page, the last one
    last.count = 1;
    last.frames[0] = told.frames[told.count];
    told.frames[told.count] = 0;
    std::memcpy(&memory[120 * page], &told, sizeof told);
    std::memcpy(&memory[121 * page], &last, sizeof last);
    save();
    const auto rings = find_rings(path, 77);
    ASSERT_TRUE(rings);
    EXPECT_EQ(rings->rings.front().missing_pages, 0U);
    EXPECT_EQ(rings->rings.front().data, ring.data);
}

TEST_F(DumpFile, SaysWhatIsMissing) {
    memory.resize(122 * page);
    djs_dump_page told;
    std::memcpy(&told, &memory[120 * page], sizeof told);
    told.frames[5] = 0xfffff;
    std::memcpy(&memory[120 * page], &told, sizeof told);
    save();
    const auto rings = find_rings(path, 77);
    ASSERT_TRUE(rings);
    EXPECT_EQ(rings->rings.front().missing_pages, 1u);
}

// Segments are in any order, and begin anywhere.
TEST_F(DumpFile, FindsPagesInEachSegment) {
    for (const std::vector<uint64_t>& begins :
         std::vector<std::vector<uint64_t>>{{0, 8 * page, 100 * page},
                                            {100 * page, 8 * page, 0},
                                            {8 * page, 0, 120 * page},
                                            {119 * page, 8 * page, 0, 121 * page},
                                            {8 * page, 120 * page, 9 * page, 0}}) {
        save(ET_CORE, begins);
        const auto rings = find_rings(path, 77);
        ASSERT_TRUE(rings) << rings.failure().message;
        EXPECT_EQ(rings->rings.front().missing_pages, 0U);
        EXPECT_EQ(rings->rings.front().data, ring.data);
    }
    // The page that tells of the ring is the last one.
    memory.resize(121 * page);
    save(ET_CORE, {8 * page, 0});
    EXPECT_TRUE(find_rings(path, 77));
    memory.resize(121 * page - 1);
    save(ET_CORE, {8 * page, 0});
    EXPECT_NE(find_rings(path, 77).failure().message.find("no records"), std::string::npos);
}

// In a segment that begins within a page, pages begin where those of memory do.
TEST_F(DumpFile, FindsPagesInSegmentsThatBeginWithinOne) {
    const uint64_t skipped = 24;
    memory.erase(memory.begin(), memory.begin() + skipped);
    save(ET_CORE, {0}, skipped);
    const auto rings = find_rings(path, 77);
    ASSERT_TRUE(rings) << rings.failure().message;
    EXPECT_EQ(rings->rings.front().missing_pages, 0U);
    EXPECT_EQ(rings->rings.front().data, ring.data);
}

// Of the file: its headers have to be there, and the memory may have been cut off.
TEST_F(DumpFile, MayBeCutOff) {
    save();
    const size_t headers = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    const auto message_of = [&](size_t size) {
        std::filesystem::resize_file(path, size);
        return find_rings(path, 77).failure().message;
    };
    EXPECT_EQ(message_of(headers + 100 * page), path + ": contains no records of djstap");
    EXPECT_EQ(message_of(headers + 1), path + ": contains no records of djstap");
    EXPECT_EQ(message_of(headers), path + ": contains no records of djstap");
    EXPECT_EQ(message_of(headers - 1), path + ": the core file is truncated");
    EXPECT_EQ(message_of(sizeof(Elf64_Ehdr)), path + ": the core file is truncated");
    EXPECT_EQ(message_of(sizeof(Elf64_Ehdr) - 1), path + ": not a core file");
    save();
    change(offsetof(Elf64_Ehdr, e_phoff) + 7, 1);
    EXPECT_EQ(find_rings(path, 77).failure().message, path + ": the core file is truncated");
}

TEST_F(DumpFile, IsOfThisArchitecture) {
    const std::string refused = path + ": not a 64-bit x86 core file";
    for (const auto& [at, byte] : {std::pair<size_t, char>{EI_CLASS, ELFCLASS32},
                                   {offsetof(Elf64_Ehdr, e_type), ET_DYN},
                                   {offsetof(Elf64_Ehdr, e_machine), EM_386}}) {
        save();
        change(at, byte);
        EXPECT_EQ(find_rings(path, 77).failure().message, refused) << at;
    }
    save();
    change(0, 'x');
    EXPECT_EQ(find_rings(path, 77).failure().message, path + ": not a core file");
}

TEST_F(DumpFile, RefusesOthers) {
    save();
    EXPECT_NE(find_rings(path, 78).failure().message.find("other modules"), std::string::npos);
    std::memset(&memory[120 * page], 0, page);
    save();
    EXPECT_NE(find_rings(path, 77).failure().message.find("no records"), std::string::npos);
    save(ET_EXEC);
    EXPECT_NE(find_rings(path, 77).failure().message.find("core file"), std::string::npos);
    for (const char* compressed : {"KDUMP   and so on", "makedumpfile and so on"}) {
        std::ofstream(path) << compressed;
        EXPECT_NE(find_rings(path, 77).failure().hint.find("makedumpfile"), std::string::npos);
    }
    EXPECT_FALSE(find_rings(path + ".not-there", 77));
}

TEST_F(DumpFile, BelievesNothing) {
    djs_dump_page told;
    std::memcpy(&told, &memory[120 * page], sizeof told);
    for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{2048}, uint64_t{5000}, 3 * page,
                           uint64_t{1} << 20, ~uint64_t{0}, uint64_t{1} << 62}) {
        djs_dump_page wrong = told;
        wrong.ring_bytes = bytes;
        std::memcpy(&memory[120 * page], &wrong, sizeof wrong);
        save();
        EXPECT_FALSE(find_rings(path, 77)) << bytes;
    }
    told.count = 0xffffffff;
    std::memcpy(&memory[120 * page], &told, sizeof told);
    save();
    EXPECT_FALSE(find_rings(path, 77));
}

} // namespace
