// SPDX-License-Identifier: GPL-2.0-or-later
// A flight recorder that writes like handlers, and a core file of a machine with its ring.
#pragma once
#include "session/dump_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace djstap {

inline constexpr uint64_t ring_bytes = 16 * DJS_PART_BYTES;

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

} // namespace djstap
