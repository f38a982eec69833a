// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/relocated_word.h"

#include "system/byte_reader.h"

namespace djstap {

uint64_t relocated_word(const ElfFile& file, uint64_t address, uint64_t value) {
    if (value)
        return value;
    for (const ElfSection& section : file.sections()) {
        if (section.type != SHT_RELA)
            continue;
        ByteReader reader(section.bytes);
        for (auto each = reader.fixed<Elf64_Rela>(); !reader.failed();
             each = reader.fixed<Elf64_Rela>())
            if (each.r_offset == address)
                return static_cast<uint64_t>(each.r_addend);
    }
    return 0;
}

} // namespace djstap
