// SPDX-License-Identifier: GPL-2.0-or-later
// Core files of machines with a flight recorder.
#include "dump_fixture.h"
#include "module_files.h"
#include "session/recorder.h"
#include "system/file.h"

#include <cstddef>
#include <filesystem>

using namespace djstap;

namespace {

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

// What `djrun --dump` prints of the module's ring.
class Dumped : public DumpFile {
  protected:
    void SetUp() override {
        DumpFile::SetUp();
        options.module = path + ".ko";
        options.outputs.file = path + ".out";
        std::ofstream(options.module, std::ios::binary)
            << elf({{".djstap.meta", meta}, {".modinfo", std::string("name=demo\0", 10)}});
        std::memcpy(&told, &memory[120 * page], sizeof told);
        told.identity = djs_hash_bytes(meta.data(), meta.size());
        told.clock = {1, 1, 1, 1'000'000, 0};
    }
    void TearDown() override {
        unlink(options.module.c_str());
        unlink(options.outputs.file.c_str());
        DumpFile::TearDown();
    }
    // Returns what is printed; `messages` is what is told.
    std::string printed() {
        std::memcpy(&memory[120 * page], &told, sizeof told);
        save();
        testing::internal::CaptureStderr();
        const auto read = read_dump(path, options);
        messages = testing::internal::GetCapturedStderr();
        if (!read)
            return "failed: " + read.failure().message;
        outcome = *read;
        const auto text = read_file(options.outputs.file);
        return text ? *text : "nothing";
    }

    const std::string meta =
        R"({"version":1,"name":"demo","formats":[{"text":"n=%d\n","types":"l"}]})";
    SessionOptions options;
    djs_dump_page told{};
    SessionOutcome outcome;
    std::string messages;
};

TEST_F(Dumped, RecordsArePrinted) {
    std::string all;
    for (int i = 0; i < 500; i++)
        all += "n=" + std::to_string(i) + "\n";
    EXPECT_EQ(printed(), all);
    EXPECT_EQ(messages, "");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.records, 500u);
    EXPECT_EQ(outcome.errors, 0u);
}

// A ring that a reader reads: from its tail on.
TEST_F(Dumped, WhatWasReadIsNotPrinted) {
    told.overwrite = 0;
    djs_ring_page read{};
    read.tail = 64 * 497;
    std::memcpy(&memory[3 * page], &read, sizeof read);
    EXPECT_EQ(printed(), "n=497\nn=498\nn=499\n");
    EXPECT_EQ(outcome.records, 3u);
}

TEST_F(Dumped, PagesThatAreMissingAreTold) {
    told.frames[told.count - 1] = 0xfffff;
    told.frames[told.count - 2] = 0xfffff;
    EXPECT_NE(printed().find("n=499\n"), std::string::npos);
    EXPECT_EQ(messages, "WARNING: the dump lacks 2 pages of the buffers\n");
}

TEST_F(Dumped, DamageIsTheStatus) {
    // The second record says that it is of an unknown kind.
    auto* second = reinterpret_cast<djs_record*>(&memory[(6 + ring_bytes / page - 1) * page + 64]);
    ASSERT_EQ(second->time, 1u);
    second->id = 77;
    EXPECT_NE(printed().find("n=0\nn=2\n"), std::string::npos);
    EXPECT_NE(messages.find("damage was found in 1 place; the damaged records are omitted"),
              std::string::npos)
        << messages;
    EXPECT_EQ(outcome.status, 1);
}

TEST_F(Dumped, FailuresAreTheFiles) {
    told.identity++;
    EXPECT_NE(printed().find("other modules"), std::string::npos);
    told.identity--;
    options.outputs.file = path + "/none/out";
    EXPECT_NE(printed().find("failed: "), std::string::npos);
    options.module = path + ".none";
    EXPECT_EQ(printed(), "failed: " + path + ".none: No such file or directory");
}

} // namespace
