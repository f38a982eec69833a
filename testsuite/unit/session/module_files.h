// SPDX-License-Identifier: GPL-2.0-or-later
// Files of modules that are made up.
#pragma once
#include <cstring>
#include <elf.h>
#include <string>
#include <utility>
#include <vector>

namespace djstap {

// An ELF file with these sections.
inline std::string elf(const std::vector<std::pair<std::string, std::string>>& sections) {
    std::string names("\0", 1), data(sizeof(Elf64_Ehdr), '\0');
    std::vector<Elf64_Shdr> headers(1);
    const auto add = [&](const std::string& name, const std::string& contents) {
        Elf64_Shdr header{};
        header.sh_name = static_cast<uint32_t>(names.size());
        header.sh_type = SHT_PROGBITS;
        header.sh_offset = data.size();
        header.sh_size = contents.size();
        headers.push_back(header);
        names.append(name).append(1, '\0');
        data.append(contents);
    };
    for (auto& [name, contents] : sections)
        add(name, contents);
    const std::string so_far = names + std::string(".shstrtab\0", 10);
    add(".shstrtab", so_far);
    auto* header = reinterpret_cast<Elf64_Ehdr*>(data.data());
    std::memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_shoff = data.size();
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = static_cast<uint16_t>(headers.size());
    header->e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    data.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
    return data;
}

} // namespace djstap
