// SPDX-License-Identifier: GPL-2.0-or-later
// Where the kernel's loader of modules writes addresses.
#pragma once
#include "arch/arch.h"
#include "image/elf_file.h"

#include <cstring>
#include <elf.h>

namespace djstap::regions {

// Calls take(SECTION, ADDRESS, BYTES) for each relocation of a linked module: the loader writes so
// many bytes there, in the section; none for types that it ignores.
template <class Take> void each_loader_write(const ElfFile& linked, const Take& take) {
    const auto sections = linked.sections();
    for (const ElfSection& section : sections) {
        if (section.type != SHT_RELA || section.info >= sections.size())
            continue;
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= section.bytes.size();
             at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, section.bytes.data() + at, sizeof relocation);
            const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
            take(sections[section.info], relocation.r_offset,
                 arch::absolute_relocation_bytes(type) + arch::distance_relocation_bytes(type));
        }
    }
}

} // namespace djstap::regions
