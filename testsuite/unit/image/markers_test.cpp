// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/markers.h"

#include "arch/arch.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace djstap;
using namespace std::string_literals;

namespace {

// Returns an object whose only section of content is .djstap.marks.
std::string object_with(const std::string& marks) {
    const std::string names = "\0.djstap.marks\0.shstrtab\0"s;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_REL;
    header.e_machine = arch::elf_machine();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr sections[3]{};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_flags = SHF_ALLOC;
    sections[1].sh_offset = sizeof header;
    sections[1].sh_size = marks.size();
    sections[2].sh_name = 15;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sizeof header + marks.size();
    sections[2].sh_size = names.size();
    std::string bytes(sizeof header, '\0');
    bytes += marks + names;
    bytes.resize((bytes.size() + 7) & ~size_t{7});
    header.e_shoff = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return bytes;
}

std::vector<Marker> read(const std::string& marks) {
    auto file = ElfFile::hold(object_with(marks), "marks.o");
    EXPECT_TRUE(file) << (file ? "" : file.failure().message);
    return file ? markers_in(**file) : std::vector<Marker>();
}

using Markers = std::vector<Marker>;

TEST(Markers, AreListedOnceAndSorted) {
    EXPECT_EQ(read("mark:full\0%u\0mark:empty\0\0mark:full\0%u\0mark:full\0%d\0"s),
              (Markers{{"empty", ""}, {"full", "%d"}, {"full", "%u"}}));
    EXPECT_EQ(read(""), Markers());
}

TEST(Markers, EndWhereTheSectionIsDamaged) {
    EXPECT_EQ(read("mark:a\0%d\0mark:b\0%d"s), (Markers{{"a", "%d"}}));
    EXPECT_EQ(read("mark:a\0%d\0mark:b"s), (Markers{{"a", "%d"}}));
    EXPECT_EQ(read("mark:a\0%d\0\0\0mark:b\0%d\0"s), (Markers{{"a", "%d"}}));
    EXPECT_EQ(read("mark:\0%d\0"s), Markers());
    EXPECT_EQ(read("trace:a\0%d\0"s), Markers());
}

TEST(Markers, OfModulesAreThoseOfDepmod) {
    const auto folder = std::filesystem::temp_directory_path() / "djstap-markers-test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "modules.alias") << "# Aliases extracted from modules themselves.\n"
                                            << "alias pci:v00001AF4d* virtio_pci\n"
                                            << "alias djstap_mark:full queue\n"
                                            << "alias djstap_mark:full queue\n"
                                            << "alias djstap_mark:full other\n"
                                            << "alias djstap_mark:\n";
    KernelFiles files;
    files.modules = folder;
    EXPECT_EQ(listed_markers(files),
              (std::vector<ListedMarker>{{"full", "other"}, {"full", "queue"}}));
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(listed_markers(files).empty());
    EXPECT_TRUE(listed_markers(KernelFiles()).empty());
}

} // namespace
