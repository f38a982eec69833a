// SPDX-License-Identifier: GPL-2.0-or-later
// The lines of programs that are compiled here, beside addr2line's.
#include "session/elf_lines.h"

#include "system/temporary.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

using namespace djstap;

namespace {

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::optional<ElfLines> lines_of(const std::string& bytes) {
    return ElfLines::read(
        [&](uint64_t offset, void* to, size_t size) {
            if (offset > bytes.size() || size > bytes.size() - offset)
                return false;
            std::memcpy(to, bytes.data() + offset, size);
            return true;
        },
        bytes.size());
}

// "FILE:LINE", without the folder.
std::string shortened(const std::string& place) {
    const std::string name = place.substr(place.rfind('/') + 1);
    return name.substr(0, name.find(' '));
}

} // namespace

TEST(ElfLines, AreThoseOfAddr2line) {
    auto made = TemporaryFolder::create(temporary_directory());
    ASSERT_TRUE(made);
    const std::string folder = made->path();
    std::ofstream(folder + "/inner.h")
        << "static inline int thrice(int n) {\n    return n * 3;\n}\n";
    std::ofstream(folder + "/one.c")
        << "#include \"inner.h\"\nint two(int);\nvolatile int n;\n\n"
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
        }
        EXPECT_GT(known, 20U) << compiler;
    }
}

TEST(ElfLines, OfNoFileAreNone) {
    EXPECT_FALSE(lines_of(""));
    EXPECT_FALSE(lines_of("no ELF file, but longer than the header of one would be: 64 bytes"));
}
