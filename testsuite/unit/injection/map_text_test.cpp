// SPDX-License-Identifier: GPL-2.0-or-later
// The text of /proc/PID/maps, as proc(5) describes it, and what of a program's file is its code.
#include "injection/memory_map.h"

#include <gtest/gtest.h>

namespace djstap::injection {
namespace {

constexpr uint64_t two_gigabytes = uint64_t{1} << 31;

MemoryMap map_of(const std::string& text) {
    const auto map = MemoryMap::parse(text, "maps");
    EXPECT_TRUE(map) << map.failure().message;
    return map ? *map : MemoryMap();
}

std::string line_of(uint64_t begin, uint64_t end, const std::string& path) {
    char text[128];
    snprintf(text, sizeof text, "%lx-%lx r-xp 00000000 00:00 0 ", begin, end);
    return text + path + "\n";
}

TEST(MapText, HasAFieldForEachFact) {
    const MemoryMap map =
        map_of("00400000-0040b000 r-xp 00002000 fd:1a 271828    /usr/bin/a program (deleted)\n"
               "7ffc0000-7ffc1000 rw-p 00000000 00:00 0         [stack]\n"
               "7ffd0000-7ffd1000 ---s 7fffffff000 103:ff 18446744073709551615 /a\n"
               "7ffe0000-7ffe1000 -w-p 00000000 00:00 0 \n");
    ASSERT_EQ(map.all().size(), 4u);
    const Mapping& first = map.all()[0];
    EXPECT_EQ(first.range.begin, 0x400000u);
    EXPECT_EQ(first.range.end, 0x40b000u);
    EXPECT_FALSE(first.writable);
    EXPECT_TRUE(first.executable);
    EXPECT_EQ(first.offset, 0x2000u);
    EXPECT_EQ(first.file, (FileIdentity{uint64_t{0xfd} << 32 | 0x1a, 271828}));
    EXPECT_EQ(first.path, "/usr/bin/a program (deleted)");
    EXPECT_EQ(map.all()[1].path, "");
    EXPECT_EQ(map.all()[1].file, FileIdentity{});
    EXPECT_TRUE(map.all()[1].writable);
    EXPECT_FALSE(map.all()[1].executable);
    EXPECT_EQ(map.all()[2].offset, 0x7fffffff000u);
    EXPECT_EQ(map.all()[2].file, (FileIdentity{uint64_t{0x103} << 32 | 0xff, UINT64_MAX}));
    EXPECT_FALSE(map.all()[2].writable || map.all()[2].executable);
    EXPECT_TRUE(map.all()[3].writable);
}

TEST(MapText, MayBeCutOffBehindTheRights) {
    const MemoryMap map = map_of("1000-2000 rwxp ");
    ASSERT_EQ(map.all().size(), 1u);
    EXPECT_TRUE(map.all()[0].writable && map.all()[0].executable);
    EXPECT_EQ(map.all()[0].offset, 0u);
    EXPECT_EQ(map.all()[0].file, FileIdentity{});
    for (const char* offset : {"30", "30 8:", "30 8:3", "30 8:3 "})
        EXPECT_EQ(map_of(std::string("1000-2000 rwxp ") + offset).all()[0].offset, 0x30u);
    EXPECT_EQ(map_of("1000-2000 rwxp 30 8:3").all()[0].file.device, uint64_t{8} << 32 | 3);
    EXPECT_TRUE(map_of("").all().empty());
}

TEST(MapText, MayHaveAnUnknownForm) {
    for (const char* text :
         {"1000-2000 rwxp", "1000-2000", "1000", "\n", "1000-2000 r-xp 0 0:0 0\nx"}) {
        const auto map = MemoryMap::parse(text, "/proc/7/maps");
        ASSERT_FALSE(map) << text;
        EXPECT_EQ(map.failure().message, "/proc/7/maps has an unknown form");
    }
}

TEST(MapText, AddressesAreInTheMappingThatBeginsThere) {
    const MemoryMap map = map_of(line_of(0x1000, 0x2000, "/a") + line_of(0x2000, 0x3000, "/b"));
    EXPECT_EQ(map.at(0xfff), nullptr);
    EXPECT_EQ(map.at(0x1000)->path, "/a");
    EXPECT_EQ(map.at(0x1fff)->path, "/a");
    EXPECT_EQ(map.at(0x2000)->path, "/b");
    EXPECT_EQ(map.at(0x3000), nullptr);
    EXPECT_TRUE(map.is_free({0, 0x1000}));
    EXPECT_FALSE(map.is_free({0, 0x1001}));
    EXPECT_TRUE(map.is_free({0x3000, 0x4000}));
    EXPECT_FALSE(map.is_free({0x2fff, 0x4000}));
    ASSERT_EQ(map.of_file("/b").size(), 1u);
    EXPECT_EQ(map.of_file("/b")[0].range.begin, 0x2000u);
}

// The entry is in the second of a file's mappings.
TEST(CodeAround, IsWhatTheFileHasMappedAround) {
    const MemoryMap map =
        map_of(line_of(0x400000, 0x401000, "/a") + line_of(0x401000, 0x403000, "/a") +
               line_of(0x404000, 0x405000, "/b") + line_of(0x406000, 0x407000, "/a"));
    for (const uint64_t entry : {0x401000, 0x402fff}) {
        const auto code = code_around(map, entry);
        ASSERT_TRUE(code);
        EXPECT_EQ(code->begin, 0x400000u);
        EXPECT_EQ(code->end, 0x407000u);
    }
    const auto other = code_around(map, 0x404800);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->begin, 0x404000u);
    EXPECT_EQ(other->end, 0x405000u);
    for (const uint64_t entry : {0x3fffff, 0x403000, 0x405000, 0x407000}) {
        const auto none = code_around(map, entry);
        ASSERT_FALSE(none) << entry;
        EXPECT_EQ(none.failure().message, "the program's entry is not mapped");
    }
}

// A jump reaches two gigabytes: what ends there, or begins there, is just too far.
TEST(CodeAround, IsWithinTheReachOfJumps) {
    constexpr uint64_t entry = uint64_t{100} << 30;
    const std::string own = line_of(entry, entry + 0x1000, "/a");
    const auto range = [&](uint64_t begin, uint64_t end) {
        const auto code = code_around(map_of(own + line_of(begin, end, "/a")), entry);
        EXPECT_TRUE(code);
        return std::pair(code->begin, code->end);
    };
    const std::pair alone(entry, entry + 0x1000);
    const uint64_t below = entry - two_gigabytes, above = entry + two_gigabytes;
    EXPECT_EQ(range(below - 0x1000, below), alone);
    EXPECT_EQ(range(below, below + 0x1000), std::pair(below, entry + 0x1000));
    EXPECT_EQ(range(below - 0x1000, below + 1), std::pair(below - 0x1000, entry + 0x1000));
    EXPECT_EQ(range(above, above + 0x1000), alone);
    EXPECT_EQ(range(above - 1, above + 0x1000), std::pair(entry, above + 0x1000));
}

} // namespace
} // namespace djstap::injection
