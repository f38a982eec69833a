// SPDX-License-Identifier: GPL-2.0-or-later
// The lines of programs that are compiled here, beside addr2line's.
#include "line_bytes.h"
#include "system/temporary.h"

#include <cstdlib>
#include <dwarf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/resource.h>

using namespace djstap;

namespace {

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// "FILE:LINE", without the folder.
std::string shortened(const std::string& place) {
    const std::string name = place.substr(place.rfind('/') + 1);
    return name.substr(0, name.find(' '));
}

// A unit of DWARF 5 with one folder, whose name begins at 0 of the strings, and with files of one
// entry, of this form.
std::string unit_of_files(char content, char form, const std::string& entry,
                          const std::string& program, unsigned files = UINT16_MAX) {
    // Each operation is a special one, which adds -5 to 8 to the line.
    std::string header("\x01\x01\x01\xfb\x0e\x01", 6);
    header += {1, DW_LNCT_path, DW_FORM_line_strp, 1};
    header += number_bytes(uint32_t{0});
    header += {1, content, form};
    header += {static_cast<char>(files | 0x80), static_cast<char>(files >> 7 | 0x80),
               static_cast<char>(files >> 14)};
    for (unsigned i = 0; i < files; i++)
        header += entry;
    const std::string unit = number_bytes(uint16_t{5}) + std::string("\x08\0", 2) +
                             number_bytes(static_cast<uint32_t>(header.size())) + header + program;
    return number_bytes(static_cast<uint32_t>(unit.size())) + unit;
}

// Sets a line for two bytes at the address.
std::string program_at(uint64_t address) {
    return std::string("\0\x09\x02", 3) + number_bytes(address) +
           std::string("\x06\x22\0\x01\x01", 5);
}

} // namespace

TEST(ElfLines, AreThoseOfAddr2line) {
    auto made = TemporaryFolder::create(temporary_directory());
    ASSERT_TRUE(made);
    const std::string folder = made->path();
    std::filesystem::create_directory(folder + "/parts");
    std::ofstream(folder + "/parts/inner.h")
        << "static inline int thrice(int n) {\n    return n * 3;\n}\n";
    std::ofstream(folder + "/one.c")
        << "#include \"parts/inner.h\"\nint two(int);\nvolatile int n;\n\n"
           "void _start(void) {\n    while (n < 1000)\n        n = two(thrice(n));\n"
           "    for (;;)\n        ;\n}\n";
    std::ofstream(folder + "/two.c")
        << std::string(300, '\n')
        << "int two(int n) {\n    return n > 3 ? n\n        : n + 7;\n}\n";
    constexpr uint64_t begin = 0x1000;
    for (const char* compiler : {"gcc -gdwarf-2", "gcc -gdwarf-3", "gcc -gdwarf-4", "gcc -gdwarf-5",
                                 "gcc -gdwarf-5 -gz=zlib", "gcc -gdwarf-4 -O0",
                                 "gcc -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
                                 "clang-19 -gdwarf-4", "clang-19 -gdwarf-5 -gdwarf64"}) {
        const std::string command =
            "cd " + folder + " && " + compiler +
            " -O2 -nostdlib -static -Wl,-Ttext=0x1000 -o program one.c two.c 2> /dev/null && "
            "for i in $(seq 4096 4200); do printf '0x%x\\n' $i; done | addr2line -e program > said";
        ASSERT_EQ(std::system(command.c_str()), 0) << compiler;
        const auto lines = lines_of(content(folder + "/program"));
        ASSERT_TRUE(lines) << compiler;
        std::ifstream said(folder + "/said");
        unsigned known = 0;
        std::set<std::string> files;
        uint64_t address = begin;
        for (std::string line; std::getline(said, line); address++) {
            const auto place = lines->at(address);
            const std::string mine =
                place ? place->file + ":" + std::to_string(place->line) : "??:0";
            const std::string theirs = shortened(line);
            if (theirs.ends_with(":?"))
                continue; // it knows the file only
            EXPECT_EQ(shortened(mine), theirs) << compiler << " at " << address;
            known += place.has_value();
            if (place)
                files.insert(place->file);
        }
        EXPECT_GT(known, 20U) << compiler;
        // Of DWARF 5, the table of lines alone knows the folder that the compiler ran in.
        const bool whole = std::string(compiler).find("gdwarf-5") != std::string::npos;
        EXPECT_TRUE(files.count((whole ? folder + "/" : "") + "parts/inner.h"))
            << compiler << ": " << testing::PrintToString(files);
    }
}

TEST(ElfLines, OfNoFileAreNone) {
    EXPECT_FALSE(lines_of(""));
    EXPECT_FALSE(lines_of("no ELF file, but longer than the header of one would be: 64 bytes"));
    EXPECT_FALSE(lines_of(file_with("", std::string("/s\0", 3)))) << "names of folders alone";
}

// Each byte stands for a file, whose path is that of its folder.
TEST(ElfLines, OfManyLongPathsTakeLittleMemory) {
    const auto used = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const auto before = used();
    std::string units;
    for (uint64_t i = 0; i < 12; i++)
        units += unit_of_files(DW_LNCT_directory_index, DW_FORM_udata, std::string(1, '\0'),
                               program_at(0x1000 + i * 0x10));
    const std::string folder = "/" + std::string(4094, 'x');
    const auto lines = lines_of(file_with(units, folder + std::string(1, '\0')));
    ASSERT_TRUE(lines);
    const auto place = lines->at(0x1000);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->file, folder);
    constexpr int64_t most_kilobytes = int64_t{2} << 20;
    EXPECT_LT(used() - before, most_kilobytes);
}

// Each file has all of the strings as its name.
TEST(ElfLines, OfNamesWithoutEndTakeLittleTime) {
    const auto lines =
        lines_of(file_with(unit_of_files(DW_LNCT_path, DW_FORM_line_strp, number_bytes(uint32_t{1}),
                                         program_at(0x1000)),
                           std::string(size_t{64} << 20, 'x')));
    ASSERT_TRUE(lines);
    EXPECT_TRUE(lines->at(0x1000));
}

TEST(ElfLines, OfPathsAreAsShortAsTheyCanBe) {
    const auto place_in = [](const std::string& folder) {
        const auto lines = lines_of(
            file_with(unit_of_files(DW_LNCT_path, DW_FORM_string, std::string("../b//./c.h\0", 12),
                                    program_at(0x1000), 2),
                      folder + std::string(1, '\0')));
        const auto place = lines ? lines->at(0x1000) : std::nullopt;
        return place ? place->file : "none";
    };
    EXPECT_EQ(place_in("/s/a"), "/s/b/c.h");
    EXPECT_EQ(place_in("/../s/."), "/b/c.h");
    EXPECT_EQ(place_in("../a"), "../b/c.h");
    EXPECT_EQ(place_in(".."), "../../b/c.h");
    EXPECT_EQ(place_in("s"), "b/c.h");
    EXPECT_EQ(place_in("st/a"), "st/b/c.h");
}

// A file of a folder that is not in the list has no path. The list has one folder, number 0.
TEST(ElfLines, OfFoldersThatAreNotThereAreNone) {
    const auto place_in = [](char folder) {
        const auto lines =
            lines_of(file_with(unit_of_files(DW_LNCT_directory_index, DW_FORM_udata,
                                             std::string(1, folder), program_at(0x1000), 2),
                               std::string("/s/a\0", 5)));
        const auto place = lines ? lines->at(0x1000) : std::nullopt;
        return place ? place->file : "none";
    };
    EXPECT_EQ(place_in(0), "/s/a");
    EXPECT_EQ(place_in(1), "none");
    EXPECT_EQ(place_in(2), "none");
}
