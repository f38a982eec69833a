// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/dump_file.h"

#include "arch/arch.h"
#include "system/file.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <optional>
#include <string_view>

namespace djstap {

namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t largest_dumped_ring = uint64_t{1} << 30;

struct Segment {
    uint64_t address; // physical
    std::string_view bytes;
};

// The physical memory in a core file.
class Memory {
  public:
    static Result<Memory> open(std::string_view file, const std::string& path);

    const std::vector<Segment>& segments() const { return segments_; }
    // Returns the page at a physical address; nothing if the dump does not contain it.
    std::optional<std::string_view> page(uint64_t address) const {
        auto after =
            std::upper_bound(segments_.begin(), segments_.end(), address,
                             [](uint64_t value, const Segment& s) { return value < s.address; });
        if (after == segments_.begin())
            return std::nullopt;
        const Segment& segment = *--after;
        const uint64_t at = address - segment.address;
        if (at >= segment.bytes.size() || segment.bytes.size() - at < page_bytes)
            return std::nullopt;
        return segment.bytes.substr(at, page_bytes);
    }

  private:
    std::vector<Segment> segments_; // sorted by address
};

Result<Memory> Memory::open(std::string_view file, const std::string& path) {
    if (file.starts_with("KDUMP   ") || file.starts_with("makedumpfile"))
        return Failure{path + ": a compressed dump", "makedumpfile -E writes an ELF core file"};
    Elf64_Ehdr header{};
    if (file.size() < sizeof header || !file.starts_with(std::string_view(ELFMAG, SELFMAG)))
        return Failure{path + ": not a core file", "use /proc/vmcore or a copy of it"};
    std::memcpy(&header, file.data(), sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_CORE ||
        header.e_machine != arch::elf_machine())
        return Failure{path + ": not a 64-bit " + arch::names().kernel + " core file", ""};
    Memory memory;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment{};
        const uint64_t at = header.e_phoff + uint64_t{i} * sizeof segment;
        if (at > file.size() || file.size() - at < sizeof segment)
            return Failure{path + ": the core file is truncated", ""};
        std::memcpy(&segment, file.data() + at, sizeof segment);
        if (segment.p_type != PT_LOAD || segment.p_offset >= file.size())
            continue;
        // Memory that was cut off is missing.
        memory.segments_.push_back(
            {segment.p_paddr, file.substr(segment.p_offset, segment.p_filesz)});
    }
    std::sort(memory.segments_.begin(), memory.segments_.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
    return memory;
}

// The page frames of one CPU's ring, as far as they are known; 0: unknown.
struct Frames {
    uint64_t ring_bytes = 0;
    bool overwrite = false;
    djs_clock clock{};
    std::vector<uint64_t> numbers;
};

// `most`: the largest ring that is possible. A damaged page may contain anything.
void add_dump_page(const djs_dump_page& page, uint64_t most, std::map<uint32_t, Frames>& rings) {
    // A ring has a page in front of its data, and its size is a power of two.
    const bool is_ring = page.cpu != DJS_DUMP_SYMBOLS;
    const uint64_t odd_bytes = page.ring_bytes & (is_ring ? page.ring_bytes - 1 : page_bytes - 1);
    const bool possible = page.ring_bytes >= page_bytes && page.ring_bytes <= most &&
                          odd_bytes == 0 && page.count <= DJS_DUMP_PAGES &&
                          page.first <= page.ring_bytes / page_bytes;
    if (!possible)
        return;
    Frames& frames = rings[page.cpu];
    frames.ring_bytes = page.ring_bytes;
    frames.overwrite = page.overwrite != 0;
    frames.clock = page.clock;
    frames.numbers.resize((is_ring ? 1 : 0) + page.ring_bytes / page_bytes);
    for (uint32_t i = 0; i < page.count && page.first + i < frames.numbers.size(); i++)
        frames.numbers[page.first + i] = page.frames[i];
}

DumpedRing read_ring(const Memory& memory, uint32_t cpu, const Frames& frames) {
    DumpedRing ring;
    ring.cpu = cpu;
    ring.overwrite = frames.overwrite;
    ring.clock = frames.clock;
    ring.data.resize(frames.ring_bytes);
    for (size_t i = 0; i < frames.numbers.size(); i++) {
        const auto bytes =
            frames.numbers[i] ? memory.page(frames.numbers[i] * page_bytes) : std::nullopt;
        if (!bytes)
            ring.missing_pages++;
        else if (i == 0)
            std::memcpy(&ring.page, bytes->data(), sizeof ring.page);
        else
            std::memcpy(ring.data.data() + (i - 1) * page_bytes, bytes->data(), page_bytes);
    }
    return ring;
}

void read_symbols(const Memory& memory, const Frames& frames, Dump& dump) {
    dump.symbols.resize(frames.ring_bytes);
    for (size_t i = 0; i < frames.numbers.size(); i++) {
        const auto bytes =
            frames.numbers[i] ? memory.page(frames.numbers[i] * page_bytes) : std::nullopt;
        if (bytes)
            std::memcpy(dump.symbols.data() + i * page_bytes, bytes->data(), page_bytes);
        else
            dump.missing_symbol_pages++;
    }
}

} // namespace

Result<Dump> find_rings(const std::string& path, uint64_t identity) {
    auto file = MappedFile::open(path);
    if (!file)
        return file.failure();
    auto memory = Memory::open((*file)->bytes(), path);
    if (!memory)
        return memory.failure();
    std::map<uint32_t, Frames> rings;
    size_t others = 0;
    for (const Segment& segment : memory->segments()) {
        // Whole pages of memory, wherever the segment begins.
        const uint64_t skip = (page_bytes - segment.address % page_bytes) % page_bytes;
        for (uint64_t at = skip; at + page_bytes <= segment.bytes.size(); at += page_bytes) {
            const char* bytes = segment.bytes.data() + at;
            if (std::memcmp(bytes, DJS_DUMP_MAGIC, sizeof(djs_dump_page::magic)) != 0)
                continue;
            djs_dump_page page;
            std::memcpy(&page, bytes, sizeof page);
            if (page.identity == identity)
                add_dump_page(
                    page, std::min<uint64_t>(largest_dumped_ring, (*file)->bytes().size()), rings);
            else
                others++;
        }
    }
    Dump dump;
    if (const auto symbols = rings.find(DJS_DUMP_SYMBOLS); symbols != rings.end()) {
        read_symbols(*memory, symbols->second, dump);
        rings.erase(symbols);
    }
    if (rings.empty() && others)
        return Failure{path + ": contains only records of other modules",
                       "use the same module file that was loaded"};
    if (rings.empty())
        return Failure{path + ": contains no records of djstap",
                       "was the module loaded at the time?"};
    for (const auto& [cpu, frames] : rings)
        dump.rings.push_back(read_ring(*memory, cpu, frames));
    return dump;
}

} // namespace djstap
