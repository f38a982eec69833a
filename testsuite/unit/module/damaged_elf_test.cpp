// SPDX-License-Identifier: GPL-2.0-or-later
// An object of which one number of a header is changed: to the last one that is right, and to the
// first one that is not.
#include "module/elf.h"

#include "common.h"

#include <cstddef>
#include <cstring>

namespace djstap::module {
namespace {

class DamagedElf : public testing::Test {
  protected:
    void SetUp() override {
        const test::TestFolder folder;
        const std::string source = folder.path + "/x.s", object = folder.path + "/x.o";
        ASSERT_TRUE(write_file(source, ".text\nstart: call outside\nmov %rax, %rcx\n"
                                       ".data\n.quad start\n"));
        const auto outcome = run_tool({"as", "--64", "-o", object, source});
        ASSERT_TRUE(outcome && outcome->status == 0);
        bytes_ = *read_file(object);
        std::memcpy(&header_, bytes_.data(), sizeof header_);
        const auto read = ElfObject::read(bytes_, "x.o");
        ASSERT_TRUE(read);
        for (size_t i = 1; i < read->sections().size(); i++) {
            const ObjectSection& section = read->sections()[i];
            if (section.type == SHT_SYMTAB)
                symbols_ = i;
            if (section.name == ".rela.text")
                relocations_ = i;
            if (section.name == ".text")
                text_ = i;
        }
        ASSERT_TRUE(symbols_ && relocations_ && text_);
    }
    // What is said of the object with this number at the offset; "" if nothing.
    template <class Number> std::string with(size_t offset, Number number) {
        std::string changed = bytes_;
        std::memcpy(changed.data() + offset, &number, sizeof number);
        const auto object = ElfObject::read(changed, "x");
        if (object)
            return "";
        const std::string before = "x: is not a complete object file: ";
        const std::string message = object.failure().message;
        return message.starts_with(before) ? message.substr(before.size()) : message;
    }
    size_t of_section(size_t index, size_t member) const {
        return header_.e_shoff + index * sizeof(Elf64_Shdr) + member;
    }
    Elf64_Shdr section(size_t index) const {
        Elf64_Shdr section;
        std::memcpy(&section, bytes_.data() + of_section(index, 0), sizeof section);
        return section;
    }
    size_t of_symbol(size_t index, size_t member) const {
        return section(symbols_).sh_offset + index * sizeof(Elf64_Sym) + member;
    }
    size_t of_relocation(size_t member) const { return section(relocations_).sh_offset + member; }

    std::string bytes_;
    Elf64_Ehdr header_{};
    size_t symbols_ = 0, relocations_ = 0, text_ = 0;
};

TEST_F(DamagedElf, Header) {
    const std::string other = "x: is not an x86-64 relocatable object";
    EXPECT_EQ(with(0, 'x'), "it has no ELF header");
    EXPECT_EQ(with(EI_CLASS, char{ELFCLASS32}), other);
    EXPECT_EQ(with(EI_DATA, char{ELFDATA2MSB}), other);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_type), uint16_t{ET_EXEC}), other);
    const std::string none = "it has no section headers";
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shentsize), uint16_t{40}), none);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shnum), uint16_t{0}), none);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shnum), header_.e_shnum), "");
    const std::string truncated = "the section headers are truncated";
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shnum), static_cast<uint16_t>(header_.e_shnum + 1)),
              truncated);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), header_.e_shoff + 1), truncated);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), uint64_t{bytes_.size()}), truncated);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), uint64_t{bytes_.size() + 1}), truncated);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shoff), ~uint64_t{0}), truncated);
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_shstrndx), header_.e_shnum),
              "the section names are missing");
}

TEST_F(DamagedElf, Sections) {
    const std::string number = std::to_string(text_);
    const uint64_t size = bytes_.size();
    const size_t offset = of_section(text_, offsetof(Elf64_Shdr, sh_offset)),
                 length = of_section(text_, offsetof(Elf64_Shdr, sh_size)),
                 name = of_section(text_, offsetof(Elf64_Shdr, sh_name));
    const std::string truncated = "section " + number + " is truncated";
    EXPECT_EQ(with(length, size - section(text_).sh_offset), "");
    EXPECT_EQ(with(length, size - section(text_).sh_offset + 1), truncated);
    EXPECT_EQ(with(offset, size - section(text_).sh_size), "");
    EXPECT_EQ(with(offset, size - section(text_).sh_size + 1), truncated);
    EXPECT_EQ(with(offset, size + 1), truncated);
    // What has no bytes in the file may be anywhere.
    EXPECT_EQ(with(of_section(0, offsetof(Elf64_Shdr, sh_offset)), size + 1), "");
    const auto names = static_cast<uint32_t>(section(header_.e_shstrndx).sh_size);
    EXPECT_EQ(with(name, names - 1), ""); // its last byte, which ends a name
    EXPECT_EQ(with(name, names), "the name of section " + number + " is outside its table");
}

TEST_F(DamagedElf, Symbols) {
    EXPECT_EQ(with(of_section(symbols_, offsetof(Elf64_Shdr, sh_link)), uint32_t{header_.e_shnum}),
              "the symbol names are missing");
    EXPECT_EQ(
        with(of_section(symbols_, offsetof(Elf64_Shdr, sh_size)), section(symbols_).sh_size - 1),
        "the symbol table is truncated");
    EXPECT_EQ(with(of_section(text_, offsetof(Elf64_Shdr, sh_type)), uint32_t{SHT_SYMTAB}),
              "it has two symbol tables");
    EXPECT_EQ(with(of_section(text_, offsetof(Elf64_Shdr, sh_type)), uint32_t{SHT_SYMTAB_SHNDX}),
              "it has more sections than a module can have");
    const auto names = static_cast<uint32_t>(section(section(symbols_).sh_link).sh_size);
    EXPECT_EQ(with(of_symbol(1, offsetof(Elf64_Sym, st_name)), names - 1), "");
    EXPECT_EQ(with(of_symbol(1, offsetof(Elf64_Sym, st_name)), names),
              "a symbol name is outside the string table");
    const size_t section = of_symbol(1, offsetof(Elf64_Sym, st_shndx));
    const auto is_in = [&](uint16_t index) { return with(section, index) == ""; };
    EXPECT_TRUE(is_in(static_cast<uint16_t>(header_.e_shnum - 1)));
    EXPECT_FALSE(is_in(header_.e_shnum));
    EXPECT_FALSE(is_in(SHN_LORESERVE - 1));
    EXPECT_TRUE(is_in(SHN_LORESERVE));
    EXPECT_TRUE(is_in(SHN_ABS));
}

TEST_F(DamagedElf, Relocations) {
    const std::string nowhere = "the relocations in .rela.text do not belong to any section";
    const size_t info = of_section(relocations_, offsetof(Elf64_Shdr, sh_info));
    EXPECT_EQ(with(info, uint32_t{0}), nowhere);
    EXPECT_EQ(with(info, uint32_t{header_.e_shnum}), nowhere);
    EXPECT_EQ(with(info, uint32_t{header_.e_shnum} - 1), ""); // names are longer than the code
    EXPECT_EQ(
        with(of_section(relocations_, offsetof(Elf64_Shdr, sh_link)), static_cast<uint32_t>(text_)),
        nowhere);
    EXPECT_EQ(with(of_section(relocations_, offsetof(Elf64_Shdr, sh_size)),
                   section(relocations_).sh_size - 1),
              nowhere);
    EXPECT_EQ(with(of_section(relocations_, offsetof(Elf64_Shdr, sh_type)), uint32_t{SHT_REL}),
              "relocations without addends in .rela.text");
    const uint64_t count = section(symbols_).sh_size / sizeof(Elf64_Sym);
    const size_t target = of_relocation(offsetof(Elf64_Rela, r_info)),
                 place = of_relocation(offsetof(Elf64_Rela, r_offset));
    EXPECT_EQ(with(target, ELF64_R_INFO(count - 1, R_X86_64_PC32)), "");
    EXPECT_EQ(with(target, ELF64_R_INFO(count, R_X86_64_PC32)),
              "a relocation in .rela.text does not refer to a symbol");
    EXPECT_EQ(with(place, section(text_).sh_size - 1), "");
    EXPECT_EQ(with(place, section(text_).sh_size),
              "a relocation in .rela.text is outside its section");
}

} // namespace
} // namespace djstap::module
