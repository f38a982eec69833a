// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/pattern.h"

#include "debuginfo/source_files.h"
#include "debuginfo/type_names.h"

#include <gtest/gtest.h>

using namespace djstap;
using Kind = FunctionPattern::LineKind;

namespace {

std::string shown(std::string_view text) {
    auto pattern = parse_function_pattern(text);
    if (!pattern)
        return "!" + pattern.failure().message;
    std::string line;
    switch (pattern->line_kind) {
    case Kind::None:
        break;
    case Kind::Absolute:
        line = " line " + std::to_string(pattern->line);
        break;
    case Kind::Relative:
        line = " plus " + std::to_string(pattern->line);
        break;
    case Kind::All:
        line = " all";
        break;
    case Kind::Range:
        line =
            " from " + std::to_string(pattern->line) + " to " + std::to_string(pattern->last_line);
        break;
    }
    return pattern->function + " in " + pattern->file + line;
}

} // namespace

TEST(Pattern, Forms) {
    EXPECT_EQ(shown("vfs_read"), "vfs_read in ");
    EXPECT_EQ(shown("vfs_*@fs/read_write.c"), "vfs_* in fs/read_write.c");
    EXPECT_EQ(shown("f@a.c:12"), "f in a.c line 12");
    EXPECT_EQ(shown("f@a.c+0"), "f in a.c plus 0");
    EXPECT_EQ(shown("f@a.c:*"), "f in a.c all");
    EXPECT_EQ(shown("*@a.c:3-9"), "* in a.c from 3 to 9");
    EXPECT_EQ(shown("f@c++.c"), "f in c++.c");
    EXPECT_EQ(shown("f@c++.c+7"), "f in c++.c plus 7");
    EXPECT_EQ(shown("f+7"), "f in  plus 7");
    EXPECT_EQ(shown("match_id.isra.0"), "match_id.isra.0 in ");
    EXPECT_EQ(shown("shop::order::total"), "shop::order::total in ");
    EXPECT_EQ(shown("::f"), "::f in ");
    EXPECT_EQ(shown("shop::*"), "shop::* in ");
    EXPECT_EQ(shown("shop::f:*"), "shop::f in  all");
    EXPECT_EQ(shown("shop::f+7"), "shop::f in  plus 7");
    EXPECT_EQ(shown("shop::f@a.cpp:12"), "shop::f in a.cpp line 12");
    EXPECT_EQ(shown("shop::pair<int, long>::get@a.cpp"), "shop::pair<int, long>::get in a.cpp");
}

TEST(Pattern, Nonsense) {
    for (const char* text :
         {"",        "@a.c",    "f@",        "f@a.c:",     "f@a.c+",
          "f@a.c:x", "f@a.c:0", "f@a.c:9-3", "f@a.c:3-",   "f@a.c:99999999999999",
          "f g",     "f@@a.c",  "f@a.c@b",   ":5",         "f/g@a.c",
          "f\n",     "f@:5",    "shop::",    "shop::@a.c", "a:b@a.c",
          "f<int> g"}) {
        auto pattern = parse_function_pattern(text);
        ASSERT_FALSE(pattern) << text;
        EXPECT_FALSE(pattern.failure().message.empty());
        EXPECT_FALSE(pattern.failure().hint.empty());
    }
    EXPECT_EQ(shown("f@a.c:x"), "!'f@a.c:x': the line after ':', 'x', is not a line number");
}

TEST(Pattern, Files) {
    EXPECT_TRUE(file_matches("", "fs/read_write.c"));
    EXPECT_TRUE(file_matches("read_write.c", "fs/read_write.c"));
    EXPECT_TRUE(file_matches("fs/read_write.c", "fs/read_write.c"));
    EXPECT_FALSE(file_matches("write.c", "fs/read_write.c"));
    EXPECT_TRUE(file_matches("*_write.c", "fs/read_write.c"));
    EXPECT_TRUE(file_matches("fs/*.c", "fs/read_write.c"));
    EXPECT_FALSE(file_matches("mm/*.c", "fs/read_write.c"));
}

TEST(SourceFiles, Normal) {
    EXPECT_EQ(normal_source_path("fs/read_write.c", "debian/build"), "fs/read_write.c");
    EXPECT_EQ(normal_source_path("./fs/../mm/slab.c", ""), "mm/slab.c");
    EXPECT_EQ(normal_source_path("/b/linux-6.1.2/arch/x86/kernel/../lib/x.S", "/b/linux-6.1.2/out"),
              "arch/x86/lib/x.S");
    EXPECT_EQ(normal_source_path("/src/kernel/a.c", "/src"), "kernel/a.c");
    EXPECT_EQ(normal_source_path("../../../kernel/a.c", "/out"), "kernel/a.c");
    EXPECT_EQ(normal_source_path("/elsewhere/a.c", "/src"), "/elsewhere/a.c");
    EXPECT_EQ(normal_source_path("debian/build/source_rt/fs/a.c", "debian/build/build_rt"),
              "fs/a.c");
    EXPECT_EQ(normal_source_path("debian/build/a.c", ""), "debian/build/a.c");
    EXPECT_EQ(normal_source_path("/src/debian/build/source_rt/fs/../mm/a.c", "/out", "/src"),
              "mm/a.c");
    // make O=/out in /src
    EXPECT_EQ(normal_source_path("/src/fs/../mm/slab.c", "/out", "/src"), "mm/slab.c");
    EXPECT_EQ(normal_source_path("/out/kernel/bounds.c", "/out", "/src"), "kernel/bounds.c");
    EXPECT_EQ(normal_source_path("/srcs/mm/slab.c", "/out", "/src"), "/srcs/mm/slab.c");
}

TEST(TypeNames, AsUsersWriteThem) {
    EXPECT_EQ(parse_type_name("struct  timeval").name, "timeval");
    EXPECT_EQ(parse_type_name("struct timeval").kind, NamedTypeKind::Struct);
    // What is read is the same whoever may write it.
    for (const char* same : {"const struct timeval", "struct timeval const",
                             "volatile struct timeval", "struct const volatile timeval"}) {
        EXPECT_EQ(parse_type_name(same).name, "timeval") << same;
        EXPECT_EQ(parse_type_name(same).kind, NamedTypeKind::Struct) << same;
    }
    EXPECT_EQ(parse_type_name("const union sigval").kind, NamedTypeKind::Union);
    EXPECT_EQ(parse_type_name("enum pid_type").kind, NamedTypeKind::Enum);
    EXPECT_EQ(parse_type_name("class order").kind, NamedTypeKind::Struct);
    EXPECT_EQ(parse_type_name("volatile unsigned long").name, "long unsigned int");
    EXPECT_EQ(parse_type_name("unsigned long").name, "long unsigned int");
    EXPECT_EQ(parse_type_name("unsigned").name, "unsigned int");
    EXPECT_EQ(parse_type_name("long long").name, "long long int");
    EXPECT_EQ(parse_type_name("u64").name, "u64");
    EXPECT_EQ(parse_type_name("").name, "");
    EXPECT_EQ(parse_type_name("two words").name, "");
}

TEST(TypeNames, Similar) {
    SimilarNames similar("vfs_raed");
    for (const char* name : {"vfs_read", "vfs_readv", "vfs_write", "vfs_raed", "vfs_read", "x"})
        similar.consider(name);
    EXPECT_EQ(similar.take(), (std::vector<std::string>{"vfs_read", "vfs_readv"}));
}
