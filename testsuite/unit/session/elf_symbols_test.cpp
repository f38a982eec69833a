// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/elf_symbols.h"

#include "elf_bytes.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace djstap;

namespace {

// A file with functions of these names, at 0x100, 0x200 …; its last bytes are those of the names.
// `change` is given the symbols, the first of which is none, and the sections.
using Change = std::function<void(std::vector<Elf64_Sym>&, Elf64_Shdr*)>;
std::string file_of(
    const std::vector<uint32_t>& names, const std::string& strings,
    const Change& change = [](std::vector<Elf64_Sym>&, Elf64_Shdr*) {}) {
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
    change(symbols, sections);
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file.append(reinterpret_cast<const char*>(sections), sizeof sections);
    file.append(reinterpret_cast<const char*>(symbols.data()), sections[1].sh_size);
    return file + strings;
}

std::optional<ElfSymbols> read(const std::string& file) {
    return ElfSymbols::read(reader_of(file), file.size());
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

// What strip leaves: the symbols of other files, which are not all.
TEST(ElfSymbols, MayBeThoseOfTheDynamicTableAlone) {
    const auto symbols =
        read(file_of({1}, std::string("\0first\0", 7),
                     [](auto&, Elf64_Shdr* sections) { sections[1].sh_type = SHT_DYNSYM; }));
    ASSERT_TRUE(symbols);
    EXPECT_FALSE(symbols->has_table());
    EXPECT_EQ(name_at(*symbols, 0x104), "first");
}

TEST(ElfSymbols, ANameBehindTheNamesIsNone) {
    const std::string strings("\0first\0", 7);
    const auto symbols = read(file_of({1, 7, 0xffffffff}, strings));
    ASSERT_TRUE(symbols);
    EXPECT_EQ(name_at(*symbols, 0x100), "first");
    EXPECT_EQ(name_at(*symbols, 0x200), "");
    EXPECT_EQ(name_at(*symbols, 0x300), "");
}

// A symbol reaches as far as its size, or, without one, to the next.
TEST(ElfSymbols, ReachToTheirEnd) {
    const std::string strings("\0first\0last\0", 12);
    auto symbols = read(file_of({1, 7}, strings));
    ASSERT_TRUE(symbols);
    EXPECT_EQ(name_at(*symbols, 0xff), "");
    EXPECT_EQ(name_at(*symbols, 0x10f), "first");
    EXPECT_EQ(name_at(*symbols, 0x110), "");
    EXPECT_EQ(name_at(*symbols, 0x1ff), "");
    EXPECT_EQ(symbols->at(0x10f)->address, 0x100U);
    EXPECT_EQ(symbols->at(0x10f)->size, 0x10U);
    symbols = read(file_of({1, 7}, strings, [](std::vector<Elf64_Sym>& all, Elf64_Shdr*) {
        all[1].st_size = all[2].st_size = 0;
    }));
    ASSERT_TRUE(symbols);
    EXPECT_EQ(name_at(*symbols, 0xff), "");
    EXPECT_EQ(name_at(*symbols, 0x110), "first");
    EXPECT_EQ(name_at(*symbols, 0x1ff), "first");
    EXPECT_EQ(name_at(*symbols, 0x200), "last");
    EXPECT_EQ(name_at(*symbols, 0x100000), "last");
}

// Functions before marks, then what is seen from everywhere before what is weak or of its file.
TEST(ElfSymbols, TheBestOfAnAddressNamesIt) {
    const std::string strings("\0one\0two\0", 9);
    const auto named = [&](unsigned char one, unsigned char two) {
        const auto symbols =
            read(file_of({1, 5}, strings, [&](std::vector<Elf64_Sym>& all, Elf64_Shdr* sections) {
                all[2].st_value = all[1].st_value;
                all[1].st_info = one;
                all[2].st_info = two;
                sections[1].sh_flags = SHF_EXECINSTR;
            }));
        return symbols ? name_at(*symbols, 0x104) : "none";
    };
    const unsigned char order[] = {
        ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),   ELF64_ST_INFO(STB_WEAK, STT_FUNC),
        ELF64_ST_INFO(STB_LOCAL, STT_FUNC),    ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
        ELF64_ST_INFO(STB_WEAK, STT_NOTYPE),   ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
        ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
    };
    for (size_t better = 0; better < std::size(order); better++)
        for (size_t worse = better + 1; worse < std::size(order); worse++) {
            EXPECT_EQ(named(order[better], order[worse]), "one") << better << worse;
            EXPECT_EQ(named(order[worse], order[better]), "two") << better << worse;
        }
    EXPECT_EQ(named(order[6], order[6]), "");
    for (size_t same = 0; same < 6; same++)
        EXPECT_EQ(named(order[same], order[same]), "one") << "the first in the table";
}

// All that an address has is looked at each time: a file cannot make that many.
TEST(ElfSymbols, ManyAtAnAddressAreFew) {
    const std::string strings("\0one\0two\0", 9);
    constexpr uint32_t many = 20000;
    std::vector<uint32_t> names(many, 5);
    names[0] = 1;
    for (const uint64_t step : {0, 1}) {
        const auto symbols =
            read(file_of(names, strings, [&](std::vector<Elf64_Sym>& all, Elf64_Shdr*) {
                for (uint32_t i = 1; i <= many; i++) {
                    all[i].st_value = 0x100;
                    all[i].st_size = 0x10 + i * step;
                }
                all[many].st_size = 0;
            }));
        ASSERT_TRUE(symbols);
        EXPECT_EQ(name_at(*symbols, 0x104), "one");
        EXPECT_EQ(name_at(*symbols, 0x1000000), "two");
        EXPECT_LT(symbols->memory(), 1000U);
    }
}

TEST(ElfSymbols, WhatIsElsewhereOrNotCodeHasNone) {
    const std::string strings("\0first\0", 7);
    for (const uint16_t section : {SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON}) {
        const auto symbols =
            read(file_of({1}, strings, [&](auto& all, Elf64_Shdr*) { all[1].st_shndx = section; }));
        EXPECT_TRUE(!symbols || name_at(*symbols, 0x100).empty()) << section;
    }
    for (const uint16_t section : {1, 2, 3, 1000}) { // a mark: 2 has no code, 3 does not exist
        const auto symbols = read(file_of({1}, strings, [&](auto& all, Elf64_Shdr* sections) {
            all[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
            all[1].st_shndx = section;
            sections[1].sh_flags = SHF_EXECINSTR;
        }));
        EXPECT_EQ(symbols ? name_at(*symbols, 0x100) : "", section == 1 ? "first" : "") << section;
    }
}

TEST(ElfSymbols, WhatIsCutHasNone) {
    const std::string file = file_of({1}, std::string("\0first\0", 7));
    const auto symbols = read(file.substr(0, file.size() - 1));
    EXPECT_TRUE(!symbols || name_at(*symbols, 0x100).empty());
}

} // namespace
