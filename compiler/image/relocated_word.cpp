// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/relocated_word.h"

#include "system/byte_reader.h"

namespace djstap {

namespace {

// Calls take(RELOCATION) for each of the file's, until one returns true.
template <class Take> void each_relocation(const ElfFile& file, const Take& take) {
    for (const ElfSection& section : file.sections()) {
        if (section.type != SHT_RELA)
            continue;
        ByteReader reader(section.bytes);
        for (auto each = reader.fixed<Elf64_Rela>(); !reader.failed();
             each = reader.fixed<Elf64_Rela>())
            if (take(each))
                return;
    }
}

} // namespace

uint64_t relocated_word(const ElfFile& file, uint64_t address, uint64_t value) {
    if (value)
        return value;
    each_relocation(file, [&](const Elf64_Rela& each) {
        if (each.r_offset != address)
            return false;
        value = static_cast<uint64_t>(each.r_addend);
        return true;
    });
    return value;
}

RelocatedWords::RelocatedWords(const ElfFile& file, const ElfSection& section) {
    each_relocation(file, [&](const Elf64_Rela& each) {
        if (each.r_offset - section.address < section.bytes.size())
            relocated_.try_emplace(each.r_offset, static_cast<uint64_t>(each.r_addend));
        return false;
    });
}

uint64_t RelocatedWords::at(uint64_t address, uint64_t value) const {
    const auto known = value ? relocated_.end() : relocated_.find(address);
    return known != relocated_.end() ? known->second : value;
}

} // namespace djstap
