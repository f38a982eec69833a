// SPDX-License-Identifier: GPL-2.0-or-later
// Files whose headers say something else than what is there: symbols and lines are read of programs
// that any user may have written.
#include "elf_bytes.h"
#include "session/elf_lines.h"
#include "session/elf_symbols.h"
#include "system/file.h"
#include "system/temporary.h"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
#include <string>
#include <zlib.h>

namespace djstap {
namespace {

// Returns the symbol at an address of a program whose code begins at 0x401000.
std::string symbol_of(const std::string& assembly, uint64_t address) {
    auto folder = TemporaryFolder::create(temporary_directory());
    EXPECT_TRUE(folder && write_file(folder->file("a.s"), assembly));
    const std::string command =
        "cd " + folder->path() + " && as -o a.o a.s && ld -e 0x401000 -Ttext=0x401000 -o a a.o";
    EXPECT_EQ(std::system(command.c_str()), 0);
    const std::string file = *read_file(folder->file("a"));
    const auto symbols = ElfSymbols::read(reader_of(file), file.size());
    const auto found = symbols ? symbols->at(address) : std::nullopt;
    return found ? std::string(found->name) : "none";
}

// A program with a function at 0x401000, as cc makes it.
class ElfHeaders : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = TemporaryFolder::create(temporary_directory());
        ASSERT_TRUE(folder);
        ASSERT_TRUE(write_file(folder->file("a.s"), ".file 1 \"/s/a.c\"\n.globl f\n"
                                                    ".type f, @function\nf: .loc 1 7\nnop\nret\n"
                                                    ".size f, .-f\n"));
        const std::string command =
            "cd " + folder->path() +
            " && as -o a.o a.s && ld -e f -Ttext=0x401000 --build-id=0x0123ab -o a a.o";
        ASSERT_EQ(std::system(command.c_str()), 0);
        file_ = *read_file(folder->file("a"));
        std::memcpy(&header_, file_.data(), sizeof header_);
        ASSERT_EQ(symbol(), "f");
        ASSERT_EQ(line(), "/s/a.c:7");
    }

    std::string symbol() const {
        const auto symbols = ElfSymbols::read(reader_of(file_), file_.size());
        const auto found = symbols ? symbols->at(0x401000) : std::nullopt;
        return !symbols ? "no file" : found ? std::string(found->name) : "none";
    }
    std::string line() const {
        const auto lines = ElfLines::read(reader_of(file_), file_.size());
        const auto found = lines ? lines->at(0x401000) : std::nullopt;
        return !lines  ? "no file"
               : found ? found->file + ":" + std::to_string(found->line)
                       : "none";
    }
    template <class Number> Number at(size_t offset) const {
        Number number;
        std::memcpy(&number, file_.data() + offset, sizeof number);
        return number;
    }
    // What is found if a number of the file is another one.
    struct Found {
        std::string symbol, line;
        bool operator==(const Found&) const = default;
    };
    template <class Number> Found with(size_t offset, Number number) {
        const std::string before = file_;
        std::memcpy(file_.data() + offset, &number, sizeof number);
        Found found{symbol(), line()};
        file_ = before;
        return found;
    }
    size_t of_section(size_t index, size_t member) const {
        return header_.e_shoff + index * sizeof(Elf64_Shdr) + member;
    }
    Elf64_Shdr section(size_t index) const { return at<Elf64_Shdr>(of_section(index, 0)); }
    size_t named(const std::string& name) const {
        const Elf64_Shdr names = section(header_.e_shstrndx);
        for (size_t i = 1; i < header_.e_shnum; i++)
            if (name == file_.data() + names.sh_offset + section(i).sh_name)
                return i;
        ADD_FAILURE() << name;
        return 0;
    }

    std::string file_;
    Elf64_Ehdr header_{};
    const Found both{"f", "/s/a.c:7"}, neither{"no file", "no file"};
};

TEST_F(ElfHeaders, AreThoseOfThisFormat) {
    EXPECT_EQ(with(0, 'x'), neither);
    EXPECT_EQ(with(3, 'x'), neither);
    EXPECT_EQ(with(EI_CLASS, char{ELFCLASS32}), neither);
    EXPECT_EQ(with(EI_DATA, char{ELFDATA2MSB}), neither);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shentsize), uint16_t{63}), neither);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shentsize), uint16_t{65}), neither);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_type), uint16_t{ET_DYN}), both);
    const std::string whole = file_;
    file_.resize(sizeof header_);
    EXPECT_EQ(symbol(), "no file");
    EXPECT_EQ(line(), "no file");
    file_.resize(sizeof header_ - 1);
    EXPECT_EQ(symbol(), "no file");
    EXPECT_EQ(line(), "no file");
    // A header alone, which says that there is nothing else.
    file_ = whole.substr(0, sizeof header_);
    for (const size_t member : {offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_shnum)})
        std::memset(file_.data() + member, 0, member == offsetof(Elf64_Ehdr, e_shnum) ? 2 : 8);
    EXPECT_EQ(symbol(), "none");
    EXPECT_EQ(line(), "no file");
}

TEST_F(ElfHeaders, OfSectionsAreInTheFile) {
    const size_t count = offsetof(Elf64_Ehdr, e_shnum), place = offsetof(Elf64_Ehdr, e_shoff);
    // The section headers end the file, as ld writes them.
    ASSERT_EQ(header_.e_shoff + header_.e_shnum * sizeof(Elf64_Shdr), file_.size());
    EXPECT_EQ(with(count, static_cast<uint16_t>(header_.e_shnum + 1)), neither);
    EXPECT_EQ(with(place, header_.e_shoff + 1), neither);
    EXPECT_EQ(with(place, uint64_t{file_.size()}), neither);
    EXPECT_EQ(with(place, uint64_t{file_.size() + 1}), neither);
    EXPECT_EQ(with(place, ~uint64_t{0}), neither);
    const size_t names = offsetof(Elf64_Ehdr, e_shstrndx);
    EXPECT_EQ(with(names, header_.e_shnum), (Found{"f", "no file"})) << "symbols need no names";
    EXPECT_EQ(with(names, static_cast<uint16_t>(header_.e_shnum - 2)).symbol, "f");
}

// If there are too many for the header, section 0 says how many (gABI, e_shnum).
TEST_F(ElfHeaders, MayHaveTheirNumberInTheFirst) {
    const uint16_t none = 0;
    std::memcpy(file_.data() + offsetof(Elf64_Ehdr, e_shnum), &none, sizeof none);
    EXPECT_EQ(symbol(), "none");
    const size_t first = of_section(0, offsetof(Elf64_Shdr, sh_size));
    EXPECT_EQ(with(first, uint64_t{header_.e_shnum}).symbol, "f");
    EXPECT_EQ(with(first, uint64_t{header_.e_shnum} + 1).symbol, "no file");
    EXPECT_EQ(with(first, ~uint64_t{0}).symbol, "no file");
    // As many as 65,536 are read.
    const std::string whole = file_;
    for (const uint64_t number : {65'536, 65'537}) {
        file_ = whole;
        std::memcpy(file_.data() + first, &number, sizeof number);
        file_.resize(header_.e_shoff + number * sizeof(Elf64_Shdr));
        EXPECT_EQ(symbol(), number == 65'536 ? "f" : "no file");
    }
}

TEST_F(ElfHeaders, OfTablesAreInTheFile) {
    const size_t table = named(".symtab"), strings = section(table).sh_link;
    const uint64_t size = file_.size();
    const auto symbol_with = [&](size_t index, size_t member, auto number) {
        return with(of_section(index, member), number).symbol;
    };
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_link), uint32_t{header_.e_shnum}), "none");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_link), ~uint32_t{0}), "none");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_PROGBITS}), "none");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_DYNSYM}), "f");
    const uint64_t behind = size - section(table).sh_offset;
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_size), behind / 24 * 24), "f");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_size), (behind / 24 + 1) * 24), "none");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_offset), size), "none");
    EXPECT_EQ(symbol_with(table, offsetof(Elf64_Shdr, sh_offset), size + 1), "none");
    const uint64_t rest = size - section(strings).sh_offset;
    EXPECT_EQ(symbol_with(strings, offsetof(Elf64_Shdr, sh_size), rest), "f");
    EXPECT_EQ(symbol_with(strings, offsetof(Elf64_Shdr, sh_size), rest + 1), "none");
    EXPECT_EQ(symbol_with(strings, offsetof(Elf64_Shdr, sh_size), uint64_t{0}), "none");
    EXPECT_EQ(symbol_with(strings, offsetof(Elf64_Shdr, sh_offset), size + 1), "none");
    EXPECT_EQ(symbol_with(strings, offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_NOBITS}), "none");
}

TEST_F(ElfHeaders, OfLinesAreInTheFile) {
    const size_t lines = named(".debug_line"), names = header_.e_shstrndx;
    const uint64_t size = file_.size();
    const auto line_with = [&](size_t index, size_t member, auto number) {
        return with(of_section(index, member), number).line;
    };
    const size_t offset = offsetof(Elf64_Shdr, sh_offset), length = offsetof(Elf64_Shdr, sh_size);
    EXPECT_EQ(line_with(lines, offset, size + 1), "no file");
    EXPECT_EQ(line_with(lines, length, size - section(lines).sh_offset), "/s/a.c:7");
    EXPECT_EQ(line_with(lines, length, size - section(lines).sh_offset + 1), "no file");
    EXPECT_EQ(line_with(lines, length, uint64_t{0}), "no file");
    EXPECT_EQ(line_with(lines, offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_NOBITS}), "no file");
    EXPECT_EQ(line_with(lines, offsetof(Elf64_Shdr, sh_name), ~uint32_t{0}), "no file");
    EXPECT_EQ(line_with(names, offset, size + 1), "no file");
    EXPECT_EQ(line_with(names, length, size - section(names).sh_offset + 1), "no file");
    EXPECT_EQ(line_with(names, offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_NOBITS}), "no file");
}

// SHF_COMPRESSED: an Elf64_Chdr, then what zlib makes of the section.
TEST_F(ElfHeaders, OfCompressedSectionsSayHowLongTheyWere) {
    const size_t lines = named(".debug_line");
    const Elf64_Shdr plain = section(lines);
    const std::string content = file_.substr(plain.sh_offset, plain.sh_size), whole = file_;
    const auto line_of = [&](uint32_t type, uint64_t size, size_t kept) {
        file_ = whole;
        std::string packed(compressBound(content.size()), '\0');
        uLongf length = packed.size();
        EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &length,
                           reinterpret_cast<const Bytef*>(content.data()), content.size()),
                  Z_OK);
        Elf64_Chdr header{type, 0, size, 1};
        std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
        bytes += packed.substr(0, length);
        bytes.resize(std::min(kept, bytes.size()));
        Elf64_Shdr changed = plain;
        changed.sh_flags |= SHF_COMPRESSED;
        changed.sh_offset = file_.size();
        changed.sh_size = bytes.size();
        std::memcpy(file_.data() + of_section(lines, 0), &changed, sizeof changed);
        file_ += bytes;
        return line();
    };
    constexpr size_t all = 1 << 20;
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, content.size(), all), "/s/a.c:7");
    EXPECT_EQ(line_of(2, content.size(), all), "no file") << "zstd";
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, content.size() - 1, all), "no file");
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, content.size() + 1, all), "no file");
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, (uint64_t{256} << 20) + 1, all), "no file");
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, content.size(), sizeof(Elf64_Chdr)), "no file");
    EXPECT_EQ(line_of(ELFCOMPRESS_ZLIB, content.size(), sizeof(Elf64_Chdr) - 1), "no file");
}

TEST_F(ElfHeaders, ABuildIdIsThatOfTheFirstNote) {
    const std::string right = "0123ab", wrong = "0123ac", none;
    EXPECT_EQ(ElfSymbols::read(reader_of(file_), file_.size())->build_id(), right);
    EXPECT_TRUE(ElfSymbols::read(reader_of(file_), file_.size(), &right));
    EXPECT_FALSE(ElfSymbols::read(reader_of(file_), file_.size(), &wrong));
    EXPECT_FALSE(ElfSymbols::read(reader_of(file_), file_.size(), &none));
}

// Names of templates are long, but not longer than 4096 characters; versions are no part of a name.
TEST_F(ElfHeaders, NamesEndAtTheirVersion) {
    const auto name_of = [](const std::string& name) {
        return symbol_of("\"" + name +
                             "\": nop\nret\n"
                             ".type \"" +
                             name +
                             "\", @function\n"
                             ".size \"" +
                             name + "\", 2\n",
                         0x401000);
    };
    EXPECT_EQ(name_of("f"), "f");
    EXPECT_EQ(name_of(std::string(4096, 'n')), std::string(4096, 'n'));
    EXPECT_EQ(name_of(std::string(5000, 'n')), std::string(4096, 'n'));
}

// A symbol that contains others, of which 63 are before the address.
TEST_F(ElfHeaders, SymbolsMayContainOthers) {
    const auto found_behind = [](size_t inner) {
        std::string source = ".type outer, @function\nouter: nop\n";
        for (size_t i = 0; i < inner; i++) {
            const std::string name = "i" + std::to_string(i);
            source.append(".type ").append(name).append(", @function\n");
            source.append(name).append(": nop\n.size ").append(name).append(", 1\n");
        }
        source += "nop\n.size outer, .-outer\n";
        return symbol_of(source, 0x401001 + inner);
    };
    EXPECT_EQ(found_behind(0), "outer");
    EXPECT_EQ(found_behind(1), "outer");
    EXPECT_EQ(found_behind(63), "outer");
}

} // namespace
} // namespace djstap
