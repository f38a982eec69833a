// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/elf_symbols.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace djstap;

namespace {

// A file with functions of these names, at 0x100, 0x200 …; its last bytes are those of the names.
std::string file_of(const std::vector<uint32_t>& names, const std::string& strings) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    std::vector<Elf64_Sym> symbols(1 + names.size());
    for (size_t i = 0; i < names.size(); i++) {
        Elf64_Sym& symbol = symbols[i + 1];
        symbol.st_name = names[i];
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        symbol.st_shndx = 1;
        symbol.st_value = (i + 1) * 0x100;
        symbol.st_size = 0x10;
    }
    Elf64_Shdr sections[3]{};
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = sizeof header + sizeof sections;
    sections[1].sh_size = symbols.size() * sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sections[1].sh_offset + sections[1].sh_size;
    sections[2].sh_size = strings.size();
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file.append(reinterpret_cast<const char*>(sections), sizeof sections);
    file.append(reinterpret_cast<const char*>(symbols.data()), sections[1].sh_size);
    return file + strings;
}

std::optional<ElfSymbols> read(const std::string& file) {
    return ElfSymbols::read(
        [&](uint64_t offset, void* to, size_t size) {
            if (offset > file.size() || size > file.size() - offset)
                return false;
            std::memcpy(to, file.data() + offset, size);
            return true;
        },
        file.size());
}

std::string name_at(const ElfSymbols& symbols, uint64_t address) {
    const auto found = symbols.at(address);
    return found ? std::string(found->name) : "";
}

TEST(ElfSymbols, TheNamesMayEndTheFile) {
    const std::string strings("\0first\0last\0", 12);
    const auto symbols = read(file_of({1, 7}, strings));
    ASSERT_TRUE(symbols);
    EXPECT_TRUE(symbols->has_table());
    EXPECT_EQ(name_at(*symbols, 0x104), "first");
    EXPECT_EQ(name_at(*symbols, 0x200), "last");
    EXPECT_EQ(name_at(*symbols, 0x0), "");
}

TEST(ElfSymbols, ANameBehindTheNamesIsNone) {
    const std::string strings("\0first\0", 7);
    const auto symbols = read(file_of({1, 7, 0xffffffff}, strings));
    ASSERT_TRUE(symbols);
    EXPECT_EQ(name_at(*symbols, 0x100), "first");
    EXPECT_EQ(name_at(*symbols, 0x200), "");
    EXPECT_EQ(name_at(*symbols, 0x300), "");
}

TEST(ElfSymbols, WhatIsCutHasNone) {
    const std::string file = file_of({1}, std::string("\0first\0", 7));
    const auto symbols = read(file.substr(0, file.size() - 1));
    EXPECT_TRUE(!symbols || name_at(*symbols, 0x100).empty());
}

} // namespace
