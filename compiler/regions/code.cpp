// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/code.h"

#include <algorithm>

namespace djstap::regions {

Result<Code> Code::of(const ElfFile& file, std::string_view live) {
    Code code;
    code.file_ = &file;
    uint64_t size = 0;
    for (const ElfSection& section : file.sections()) {
        if (!(section.flags & SHF_ALLOC) || !(section.flags & SHF_EXECINSTR) ||
            section.type == SHT_NOBITS || section.bytes.empty())
            continue;
        code.sections_.push_back({section.address, section.bytes, 0});
        size += section.bytes.size();
    }
    if (size == 0)
        return Failure{file.path() + ": contains no code",
                       "debug files have none; name the program itself"};
    if (size >= UINT32_MAX)
        return Failure{file.path() + ": has more than 4 GB of code", ""};
    std::sort(code.sections_.begin(), code.sections_.end(),
              [](const auto& a, const auto& b) { return a.address < b.address; });
    if (!live.empty()) {
        const ElfSection* section = file.section(".text");
        auto text =
            std::find_if(code.sections_.begin(), code.sections_.end(), [&](const auto& each) {
                return section && each.address == section->address;
            });
        if (text == code.sections_.end())
            text = code.sections_.begin();
        if (live.size() < text->bytes.size())
            return Failure{"the text from memory has " + std::to_string(live.size()) +
                               " bytes, the file's section with code " +
                               std::to_string(text->bytes.size()),
                           "it must begin and end with that section"};
        text->bytes = live.substr(0, text->bytes.size());
        code.live_first_ = text->address;
        code.live_end_ = text->address + text->bytes.size();
    }
    Index first = 0;
    uint64_t end = 0;
    for (CodeSection& section : code.sections_) {
        if (section.address < end || section.address + section.bytes.size() < section.address)
            return Failure{file.path() + ": has sections of code that overlap",
                           "it is damaged, or was not linked"};
        end = section.address + section.bytes.size();
        section.first = first;
        first = section.end();
    }
    code.low_ = code.sections_.front().address;
    code.high_ = end;
    code.lengths.resize(size);
    code.traits.resize(size);
    code.entries.resize(size);
    code.written.resize(size);
    return code;
}

std::optional<Index> Code::index(uint64_t address) const {
    if (address < low_ || address >= high_) // most numbers in data
        return std::nullopt;
    auto after = std::upper_bound(
        sections_.begin(), sections_.end(), address,
        [](uint64_t value, const CodeSection& section) { return value < section.address; });
    if (after == sections_.begin())
        return std::nullopt;
    const CodeSection& section = *(after - 1);
    if (address - section.address >= section.bytes.size())
        return std::nullopt;
    return section.first + static_cast<Index>(address - section.address);
}

const CodeSection& Code::section_at(Index index) const {
    auto after = std::upper_bound(
        sections_.begin(), sections_.end(), index,
        [](Index value, const CodeSection& section) { return value < section.first; });
    return *(after - 1);
}

uint64_t Code::address(Index index) const {
    const CodeSection& section = section_at(index);
    return section.address + (index - section.first);
}

std::string_view Code::bytes(Index index) const {
    const CodeSection& section = section_at(index);
    return section.bytes.substr(index - section.first);
}

std::optional<Index> Code::instruction(uint64_t address) const {
    const std::optional<Index> at = index(address);
    return at && begins_instruction(*at) ? at : std::nullopt;
}

void Code::enter(uint64_t address, Entry entry) {
    if (const std::optional<Index> at = index(address))
        entries[*at] |= entry;
}

void Code::write(uint64_t address, size_t bytes, Written written_as) {
    const std::optional<Index> at = index(address);
    if (!at)
        return;
    const Index end = section_at(*at).end();
    for (Index each = *at; each < end && each - *at < bytes; each++)
        written[each] |= written_as;
}

std::pair<const Edge*, const Edge*> Code::jumps_from(Index first, Index end) const {
    auto before = [](const Edge& edge, Index value) { return edge.from < value; };
    auto low = std::lower_bound(jumps.begin(), jumps.end(), first, before);
    auto high = std::lower_bound(low, jumps.end(), end, before);
    return {jumps.data() + (low - jumps.begin()), jumps.data() + (high - jumps.begin())};
}

} // namespace djstap::regions
