// SPDX-License-Identifier: GPL-2.0-or-later
// ELF files that are just complete, and damaged ones.
#include "arch/arch.h"
#include "image/decompress.h"
#include "image/relocated_word.h"
#include "made.h"

#include <functional>

using namespace djstap;
using namespace djstap::test;

namespace {

// Headers of sections and of one segment, the names, and `content`, with which the file ends.
std::string file_with(const std::string& content) {
    const std::string names("\0.names\0.content\0", 17);
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Shdr sections[3]{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_EXEC;
    header.e_machine = arch::elf_machine();
    header.e_entry = 0x1234;
    header.e_phentsize = sizeof segment;
    header.e_phnum = 1;
    header.e_phoff = sizeof header;
    header.e_shentsize = sizeof sections[0];
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    header.e_shoff = header.e_phoff + sizeof segment;
    segment.p_type = PT_LOAD;
    segment.p_vaddr = 0x1000;
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = header.e_shoff + sizeof sections;
    sections[1].sh_size = names.size();
    sections[2].sh_name = 8;
    sections[2].sh_type = SHT_PROGBITS;
    sections[2].sh_flags = SHF_ALLOC;
    sections[2].sh_addr = 0x1000;
    sections[2].sh_offset = sections[1].sh_offset + names.size();
    sections[2].sh_size = content.size();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return bytes + names + content;
}

// Whether the file is read with these headers.
bool is_read(const std::function<void(Elf64_Ehdr&, Sections&)>& change) {
    std::string bytes = file_with("content");
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    Sections sections(bytes);
    change(header, sections);
    sections.store();
    std::memcpy(bytes.data(), &header, sizeof header);
    return static_cast<bool>(ElfFile::hold(bytes, "file"));
}

} // namespace

TEST(ElfFile, EndsWithItsLastSection) {
    const std::string bytes = file_with("content");
    const auto file = ElfFile::hold(bytes, "file");
    ASSERT_TRUE(file) << file.failure().message;
    EXPECT_EQ((*file)->type(), ET_EXEC);
    EXPECT_EQ((*file)->entry(), 0x1234U);
    EXPECT_EQ((*file)->bytes(), bytes);
    ASSERT_EQ((*file)->sections().size(), 3U);
    const ElfSection* const section = (*file)->section(".content");
    ASSERT_TRUE(section);
    EXPECT_EQ(section->bytes, "content");
    EXPECT_FALSE((*file)->section(".none"));
    ASSERT_EQ((*file)->program_headers().size(), 1U);
    EXPECT_EQ((*file)->program_headers()[0].p_vaddr, 0x1000U);
    EXPECT_TRUE((*file)->symbols().empty());
    EXPECT_EQ((*file)->bytes_at(0x1000, 7), "content");
    EXPECT_EQ((*file)->bytes_at(0x1006, 1), "t");
    EXPECT_EQ((*file)->bytes_at(0x1006, 2), "");
    EXPECT_EQ((*file)->bytes_from(0x1003), "tent");
    EXPECT_EQ((*file)->bytes_from(0x1007), "");
    EXPECT_EQ((*file)->bytes_from(0xfff), "");
    EXPECT_FALSE(ElfFile::hold(bytes.substr(0, bytes.size() - 1), "file"));
}

TEST(ElfFile, DamagedHeaders) {
    EXPECT_TRUE(is_read([](auto&, auto&) {}));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_shentsize--; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_shoff++; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_shoff = 1 << 20; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_shnum = 100; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_shstrndx = 3; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_ident[EI_DATA] = ELFDATA2MSB; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_ident[1]++; }));
    EXPECT_FALSE(is_read([](auto& header, auto&) { header.e_machine++; }));
    // Sections that are not in the file, that with the names or another one.
    for (const size_t number : {1, 2}) {
        EXPECT_FALSE(is_read([&](auto&, auto& sections) { sections.all[number].sh_size = 4096; }));
        EXPECT_FALSE(is_read([&](auto&, auto& sections) { sections.all[number].sh_size = ~0UL; }));
        EXPECT_FALSE(
            is_read([&](auto&, auto& sections) { sections.all[number].sh_offset = 4096; }));
    }
    // What is not in a file needs no room.
    EXPECT_TRUE(is_read([](auto&, auto& sections) {
        sections.all[2].sh_type = SHT_NOBITS;
        sections.all[2].sh_size = 4096;
    }));
    // A table of symbols whose names no section has, or that is not aligned.
    EXPECT_TRUE(is_read([](auto&, auto& sections) {
        sections.all[2].sh_type = SHT_SYMTAB;
        sections.all[2].sh_link = 3;
    }));
}

TEST(ElfFile, DamagedProgramHeaders) {
    auto count = [](const std::function<void(Elf64_Ehdr&)>& change) {
        std::string bytes = file_with("content");
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        change(header);
        std::memcpy(bytes.data(), &header, sizeof header);
        const auto file = ElfFile::hold(bytes, "file");
        EXPECT_TRUE(file);
        return file ? (*file)->program_headers().size() : 99;
    };
    EXPECT_EQ(count([](auto&) {}), 1U);
    EXPECT_EQ(count([](auto& header) { header.e_phentsize++; }), 0U);
    EXPECT_EQ(count([](auto& header) { header.e_phoff++; }), 0U);
    EXPECT_EQ(count([](auto& header) { header.e_phoff = 1 << 20; }), 0U);
    EXPECT_EQ(count([](auto& header) { header.e_phnum = 100; }), 0U);
    EXPECT_EQ(count([](auto& header) { header.e_phnum = 0; }), 0U);
}

// Up to the last byte of the file.
TEST(ElfFile, ProgramHeadersMayBeItsEnd) {
    std::string bytes = file_with("content");
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    bytes += bytes.substr(header.e_phoff, sizeof(Elf64_Phdr));
    header.e_phoff = bytes.size() - sizeof(Elf64_Phdr);
    std::memcpy(bytes.data(), &header, sizeof header);
    auto file = ElfFile::hold(bytes, "file");
    ASSERT_TRUE(file);
    ASSERT_EQ((*file)->program_headers().size(), 1U);
    EXPECT_EQ((*file)->program_headers()[0].p_vaddr, 0x1000U);
}

// A file that is loaded anywhere has the addresses of its words in relocations.
TEST(RelocatedWord, IsWhatTheLoaderWrites) {
    const Folder folder;
    folder.write("p.s", ".globl f\n.text\n nop\nf: ret\n.section .data.rel.ro, \"aw\"\n"
                        ".quad 0, f, f + 1, 7\n.data\n.quad f\n");
    folder.shell("as -o p.o p.s && ld -pie --no-dynamic-linker -e f -o p p.o");
    const auto file = folder.elf("p");
    const ElfSection& section = *file->section(".data.rel.ro");
    const uint64_t f = file->entry(), at = section.address;
    EXPECT_EQ(relocated_word(*file, at, 0), 0U);
    EXPECT_EQ(relocated_word(*file, at + 8, 0), f);
    EXPECT_EQ(relocated_word(*file, at + 16, 0), f + 1);
    EXPECT_EQ(relocated_word(*file, at + 24, 7), 7U);
    EXPECT_EQ(relocated_word(*file, at + 8, 5), 5U); // what the file says
    const RelocatedWords words(*file, section);
    EXPECT_EQ(words.at(at, 0), 0U);
    EXPECT_EQ(words.at(at + 8, 0), f);
    EXPECT_EQ(words.at(at + 16, 0), f + 1);
    EXPECT_EQ(words.at(at + 24, 7), 7U);
    EXPECT_EQ(words.at(at + 8, 5), 5U);
    // Another section's are not read.
    EXPECT_EQ(words.at(file->section(".data")->address, 0), 0U);
    EXPECT_EQ(RelocatedWords(*file, *file->section(".data")).at(file->section(".data")->address, 0),
              f);
}

// What tools compress is what was there before.
TEST(Decompress, Sections) {
    const Folder folder;
    std::string text = "int f(void) { return 0; }\n";
    for (int i = 0; i < 200; i++)
        text += "struct s" + std::to_string(i) + " { int a, b; } v" + std::to_string(i) + ";\n";
    folder.write("o.c", text);
    folder.shell("gcc -g -c -gz=none -o plain.o o.c");
    const auto plain = folder.elf("plain.o");
    EXPECT_FALSE(has_compressed_sections(*plain));
    EXPECT_EQ(*decompress_sections(folder.bytes("plain.o"), "plain.o"), folder.bytes("plain.o"));
    for (const char* kind : {"zlib", "zstd"}) {
        folder.shell(std::string("objcopy --compress-debug-sections=") + kind +
                     " plain.o packed.o");
        const auto packed = folder.elf("packed.o");
        EXPECT_TRUE(has_compressed_sections(*packed)) << kind;
        auto bytes = decompress_sections(folder.bytes("packed.o"), "packed.o");
        ASSERT_TRUE(bytes) << bytes.failure().message;
        const auto whole = ElfFile::hold(*bytes, "packed.o");
        ASSERT_TRUE(whole);
        EXPECT_FALSE(has_compressed_sections(**whole));
        for (const ElfSection& section : plain->sections()) {
            const ElfSection* const same = (*whole)->section(section.name);
            ASSERT_TRUE(same) << section.name;
            if (section.name.starts_with(".debug")) {
                EXPECT_EQ(same->bytes, section.bytes) << kind << " " << section.name;
            }
        }
        std::string copy = *bytes;
        const Sections headers(copy);
        for (const Elf64_Shdr& each : headers.all)
            if (headers.name(each).starts_with(".debug_info")) {
                EXPECT_EQ(each.sh_offset % 16, 0U);
                EXPECT_LT(each.sh_offset, bytes->size());
            }
    }
}

TEST(Decompress, Damage) {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 200; i++)
        text += "struct s" + std::to_string(i) + " { int a, b; } v" + std::to_string(i) + ";\n";
    folder.write("o.c", text);
    for (const char* kind : {"zlib", "zstd"}) {
        folder.shell(std::string("gcc -g -c -gz=none -o plain.o o.c && objcopy "
                                 "--compress-debug-sections=") +
                     kind + " plain.o packed.o");
        const std::string bytes = folder.bytes("packed.o");
        auto message = [&](const std::function<void(Elf64_Shdr&, Elf64_Chdr&)>& change) {
            std::string damaged = bytes;
            Sections sections(damaged);
            Elf64_Shdr& section = sections[".debug_info"];
            const uint64_t at = section.sh_offset;
            Elf64_Chdr header;
            std::memcpy(&header, damaged.data() + at, sizeof header);
            change(section, header);
            sections.store();
            std::memcpy(damaged.data() + at, &header, sizeof header);
            const auto whole = decompress_sections(damaged, "x");
            return whole ? "" : whole.failure().message;
        };
        EXPECT_EQ(message([](auto&, auto&) {}), "");
        const auto expect_damage = [&](const auto& change) {
            EXPECT_TRUE(message(change).ends_with(" is damaged")) << message(change);
        };
        // Less is there than is said, or more.
        expect_damage([](auto&, auto& header) { header.ch_size++; });
        expect_damage([](auto&, auto& header) { header.ch_size--; });
        expect_damage([](auto&, auto& header) { header.ch_size = UINT64_MAX / 2; });
        expect_damage([](auto&, auto& header) { header.ch_size = uint64_t{1} << 40; });
        expect_damage([](auto& section, auto&) { section.sh_size = sizeof(Elf64_Chdr) - 1; });
        expect_damage([](auto& section, auto&) { section.sh_size -= 20; });
        expect_damage([](auto& section, auto&) { section.sh_type = SHT_NOBITS; });
        expect_damage([&](auto& section, auto&) { section.sh_offset = bytes.size() + 1; });
        expect_damage([&](auto& section, auto&) { section.sh_size = bytes.size(); });
        EXPECT_NE(message([](auto&, auto& header) { header.ch_type = 77; }).find("(type 77)"),
                  std::string::npos);
    }
    EXPECT_EQ(*decompress_sections("", ""), "");
    EXPECT_EQ(*decompress_sections("text", ""), "text");
    EXPECT_EQ(*decompress_sections(std::string(500, 'x'), ""), std::string(500, 'x'));
}

// A file of many sections that are the same bytes, of 36 MB each.
TEST(Decompress, AllSectionsTogetherMayBeTooLarge) {
    const Folder folder;
    folder.write("o.s", ".section .debug_info\n.skip 36000000\n.section .debug_line\n.skip 64\n"
                        ".section .debug_str\n.skip 64\n");
    folder.shell("as -o plain.o o.s && objcopy --compress-debug-sections=zlib plain.o packed.o");
    std::string bytes = folder.bytes("packed.o");
    EXPECT_TRUE(decompress_sections(bytes, "x"));
    Sections sections(bytes);
    const Elf64_Shdr packed = sections[".debug_info"];
    ASSERT_TRUE(packed.sh_flags & SHF_COMPRESSED);
    for (const char* other : {".debug_line", ".debug_str"}) {
        Elf64_Shdr& section = sections[other];
        const uint32_t name = section.sh_name;
        section = packed;
        section.sh_name = name;
    }
    sections.store();
    const auto whole = decompress_sections(bytes, "x");
    ASSERT_FALSE(whole);
    EXPECT_NE(whole.failure().message.find("too large"), std::string::npos);
}

// Whatever the sizes of the sections before it.
TEST(Decompress, SectionsBeginAtMultiplesOfSixteen) {
    const Folder folder;
    folder.write("o.s", ".section .debug_info\n.skip 5001\n.section .debug_line\n.skip 4003\n"
                        ".section .debug_str\n.skip 6007\n");
    folder.shell("as -o plain.o o.s && objcopy --compress-debug-sections=zlib plain.o packed.o");
    std::string whole = *decompress_sections(folder.bytes("packed.o"), "packed.o");
    const Sections sections(whole);
    size_t found = 0;
    for (const Elf64_Shdr& each : sections.all)
        if (sections.name(each).starts_with(".debug")) {
            EXPECT_EQ(each.sh_offset % 16, 0U) << sections.name(each);
            found++;
        }
    EXPECT_EQ(found, 3U);
}

// The headers need not be behind it.
TEST(Decompress, ASectionMayEndTheFile) {
    const Folder folder;
    folder.write("o.s", ".section .debug_info\n.skip 5000, 7\n");
    folder.shell("as -o plain.o o.s && objcopy --compress-debug-sections=zlib plain.o packed.o");
    std::string bytes = folder.bytes("packed.o");
    const size_t end = bytes.size();
    const Elf64_Shdr packed = Sections(bytes)[".debug_info"];
    ASSERT_TRUE(packed.sh_flags & SHF_COMPRESSED);
    bytes += bytes.substr(packed.sh_offset, packed.sh_size);
    Sections sections(bytes);
    sections[".debug_info"].sh_offset = end;
    sections.store();
    const auto whole = decompress_sections(bytes, "x");
    ASSERT_TRUE(whole);
    const auto file = ElfFile::hold(*whole, "x");
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->section(".debug_info")->bytes, std::string(5000, '\7'));
    bytes.pop_back();
    EXPECT_FALSE(decompress_sections(bytes, "x"));
}

TEST(ElfFile, SymbolsBeginAtMultiplesOfEight) {
    const Folder folder;
    folder.write("o.s", ".globl f\nf: ret\n");
    folder.shell("as -o o.o o.s");
    for (const uint64_t offset : {0, 1, 4}) {
        std::string bytes = folder.bytes("o.o");
        Sections sections(bytes);
        sections[".symtab"].sh_offset += offset;
        sections[".symtab"].sh_size -= sizeof(Elf64_Sym);
        sections.store();
        EXPECT_EQ(static_cast<bool>(ElfFile::hold(bytes, "o.o")), offset == 0) << offset;
    }
}
