// SPDX-License-Identifier: GPL-2.0-or-later
// Files with lines that are made up.
#pragma once
#include "session/elf_lines.h"

#include <array>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string>

namespace djstap {

inline std::optional<ElfLines> lines_of(const std::string& bytes) {
    return ElfLines::read(
        [&](uint64_t offset, void* to, size_t size) {
            if (offset > bytes.size() || size > bytes.size() - offset)
                return false;
            std::memcpy(to, bytes.data() + offset, size);
            return true;
        },
        bytes.size());
}

template <class Number> std::string number_bytes(Number value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A file with these contents of .debug_line and .debug_line_str.
inline std::string file_with(const std::string& lines, const std::string& strings) {
    const std::string names("\0.debug_line\0.debug_line_str\0.names\0", 36);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::array<Elf64_Shdr, 4> sections{};
    header.e_shnum = 4;
    header.e_shstrndx = 3;
    std::string content;
    const auto add = [&](Elf64_Shdr& section, uint32_t name, const std::string& text) {
        section.sh_name = name;
        section.sh_type = SHT_PROGBITS;
        section.sh_offset = sizeof header + content.size();
        section.sh_size = text.size();
        content += text;
    };
    add(sections[1], 1, lines);
    add(sections[2], 13, strings);
    add(sections[3], 29, names);
    header.e_shoff = sizeof header + content.size();
    return number_bytes(header) + content + number_bytes(sections);
}

} // namespace djstap
