// SPDX-License-Identifier: GPL-2.0-or-later
// Names of types and of files as users write them, and types as C writes them.
#include "debuginfo/pattern.h"
#include "debuginfo/source_files.h"
#include "debuginfo/type_names.h"

#include <gtest/gtest.h>
#include <map>

namespace djstap {
namespace {

std::string parsed(std::string_view text) {
    const NamedType type = parse_type_name(text);
    switch (type.kind) {
    case NamedTypeKind::Struct:
        return "struct|" + type.name;
    case NamedTypeKind::Union:
        return "union|" + type.name;
    case NamedTypeKind::Enum:
        return "enum|" + type.name;
    case NamedTypeKind::Plain:
        break;
    }
    return type.name;
}

// The right side is what gcc calls them in DWARF.
TEST(TypeNames, EachIntegerOfC) {
    for (const auto& [written, name] : {std::pair("char", "char"),
                                        {"signed char", "signed char"},
                                        {"char signed", "signed char"},
                                        {"unsigned char", "unsigned char"},
                                        {"short", "short int"},
                                        {"signed short int", "short int"},
                                        {"unsigned short", "short unsigned int"},
                                        {"short int unsigned", "short unsigned int"},
                                        {"int", "int"},
                                        {"signed", "int"},
                                        {"signed int", "int"},
                                        {"unsigned", "unsigned int"},
                                        {"unsigned int", "unsigned int"},
                                        {"long", "long int"},
                                        {"long int", "long int"},
                                        {"signed long", "long int"},
                                        {"unsigned long int", "long unsigned int"},
                                        {"long unsigned", "long unsigned int"},
                                        {"long long", "long long int"},
                                        {"long long unsigned int", "long long unsigned int"},
                                        {"unsigned long long", "long long unsigned int"}})
        EXPECT_EQ(parsed(written), name) << written;
}

TEST(TypeNames, QualifiersAndKinds) {
    EXPECT_EQ(parsed("const struct box"), "struct|box");
    EXPECT_EQ(parsed("struct box const"), "struct|box");
    EXPECT_EQ(parsed("volatile\tunsigned\nconst long"), "long unsigned int");
    EXPECT_EQ(parsed("class shop::order"), "struct|shop::order");
    EXPECT_EQ(parsed("union box"), "union|box");
    EXPECT_EQ(parsed("enum box"), "enum|box");
    EXPECT_EQ(parsed("box_t"), "box_t");
    EXPECT_EQ(parsed("shop::pair<int, long>"), "shop::pair<int, long>");
    EXPECT_EQ(parsed("struct shop::pair<int, long>"), "struct|shop::pair<int, long>");
    for (const char* none : {"", " ", "const", "struct a b", "union a b", "enum a b", "two words",
                             "unsigned box", "int box"})
        EXPECT_EQ(parsed(none), "") << none;
}

// Types by number: each line of a test describes some.
using Types = std::map<TypeId, TypeStep>;
using Form = TypeStep::Form;

TypeStep named(std::string text) {
    return {Form::Named, std::move(text), 0, 0, {}, false};
}
TypeStep qualified(std::string text, TypeId of) {
    return {Form::Qualified, std::move(text), of, 0, {}, false};
}
TypeStep pointer(TypeId to) {
    return {Form::Pointer, "", to, 0, {}, false};
}
TypeStep array(TypeId of, uint64_t count) {
    return {Form::Array, "", of, count, {}, false};
}
TypeStep function(TypeId result, std::vector<TypeId> parameters, bool varargs = false) {
    return {Form::Function, "", result, 0, std::move(parameters), varargs};
}

std::string written(TypeId type, const Types& types) {
    return write_type(type, [&](TypeId each) { return types.at(each); });
}

TEST(WrittenTypes, AreDeclarationsOfC) {
    const Types types{{1, named("int")},
                      {2, pointer(1)},
                      {3, qualified("const", 1)},
                      {4, pointer(3)},
                      {5, qualified("const", 2)},
                      {6, pointer(0)},
                      {7, array(1, 3)},
                      {8, array(7, 2)},
                      {9, pointer(7)},
                      {10, array(2, 0)},
                      {11, function(1, {})},
                      {12, function(0, {1, 4}, true)},
                      {13, pointer(12)},
                      {14, array(13, 5)},
                      {15, function(13, {13})},
                      {16, pointer(2)},
                      {17, qualified("volatile", 3)},
                      {18, {Form::Pointer, "&", 1, 0, {}, false}},
                      {19, function(1, {}, true)},
                      {20, pointer(5)}};
    for (const auto& [type, text] :
         {std::pair<TypeId, const char*>(0, "void"),
          {1, "int"},
          {2, "int *"},
          {3, "const int"},
          {4, "const int *"},
          {5, "int *const"},
          {6, "void *"},
          {7, "int [3]"},
          {8, "int [2][3]"},
          {9, "int (*)[3]"},
          {10, "int *[]"},
          {11, "int (void)"},
          {12, "void (int, const int *, ...)"},
          {13, "void (*)(int, const int *, ...)"},
          {14, "void (*[5])(int, const int *, ...)"},
          {15, "void (*(void (*)(int, const int *, ...)))(int, const int *, ...)"},
          {16, "int **"},
          {17, "volatile const int"},
          {18, "int &"},
          {19, "int (...)"},
          {20, "int *const *"}}) {
        std::string plain = written(type, types);
        // Spaces say nothing beside a sign.
        auto squeezed = [](const std::string& given) {
            std::string out;
            for (size_t i = 0; i < given.size(); i++) {
                const bool between = i > 0 && i + 1 < given.size() &&
                                     (isalnum(static_cast<unsigned char>(given[i - 1])) != 0) &&
                                     (isalnum(static_cast<unsigned char>(given[i + 1])) != 0);
                if (given[i] != ' ' || between)
                    out += given[i];
            }
            return out;
        };
        EXPECT_EQ(squeezed(plain), squeezed(text)) << type;
    }
}

TEST(WrittenTypes, EndThoughTheyContainThemselves) {
    const Types circle{{1, pointer(1)}, {2, function(2, {2, 2, 2})}};
    EXPECT_NE(written(1, circle).find("…"), std::string::npos);
    EXPECT_LT(written(2, circle).size(), 100000U);
}

// Of a bit field: the unit that it is in, by its first bit; else it is read from its first byte.
TEST(BitFields, AreInAUnitOfTheirType) {
    auto place = [](uint64_t bits, unsigned size, uint64_t storage) {
        CMember member;
        member.bit_size = size;
        place_bit_field(member, bits, storage);
        return std::pair(member.offset, member.bit_offset);
    };
    using Place = decltype(place(0, 1, 4));
    EXPECT_EQ(place(0, 3, 4), Place(0, 0));
    EXPECT_EQ(place(31, 1, 4), Place(0, 31));
    EXPECT_EQ(place(32, 1, 4), Place(4, 0));
    EXPECT_EQ(place(37, 27, 4), Place(4, 5));
    EXPECT_EQ(place(64, 64, 8), Place(8, 0));
    EXPECT_EQ(place(37, 28, 4), Place(4, 5)); // packed: it begins in this byte
    EXPECT_EQ(place(30, 4, 4), Place(3, 6));
}

TEST(SimilarNames, AreTwoEditsAway) {
    auto of = [](std::string_view name, const std::vector<std::string>& candidates) {
        SimilarNames similar(name);
        for (const std::string& each : candidates)
            similar.consider(each);
        std::string out;
        for (const std::string& each : similar.take())
            out += each + " ";
        return out;
    };
    EXPECT_EQ(of("vfs_read", {"vfs_read"}), "");
    EXPECT_EQ(of("vfs_read", {"vfs_reads", "vfs_rea", "vfs_readxy", "vfs_re", "vfs_readxyz",
                              "vfs_r", "vfs_raed", "xfs_reed", "xxx_read"}),
              "vfs_raed vfs_rea vfs_reads vfs_re vfs_readxy xfs_reed ");
    // Nothing of it would be left.
    EXPECT_EQ(of("ab", {"cd", "ac", "a", "abcd"}), "a ac ");
    EXPECT_EQ(of("a", {"b", "ab"}), "");
}

TEST(FilePatterns, MatchTheLastFolders) {
    for (const auto& [pattern, file, matches] : {std::tuple("", "", true),
                                                 {"w.c", "w.c", true},
                                                 {"w.c", "fs/w.c", true},
                                                 {"/w.c", "fs/w.c", true},
                                                 {"fs/w.c", "fs/w.c", true},
                                                 {"fs/w.c", "a/fs/w.c", true},
                                                 {"s/w.c", "fs/w.c", false},
                                                 {".c", "fs/w.c", false},
                                                 {"a/fs/w.c", "fs/w.c", false},
                                                 {"fs/w.c", "fs/w.cc", false},
                                                 {"*.c", "a/fs/w.c", true},
                                                 {"w.?", "a/fs/w.c", true},
                                                 {"fs/*.c", "a/fs/w.c", true},
                                                 {"a/*.c", "a/fs/w.c", true},
                                                 {"s/*.c", "a/fs/w.c", false},
                                                 {"w.?", "w.c", true},
                                                 {"w.?", "xw.c", false}})
        EXPECT_EQ(file_matches(pattern, file), matches) << pattern << " " << file;
}

TEST(SourcePaths, LoseTheFolderOfTheBuild) {
    EXPECT_EQ(normal_source_path("/src/a.c", "/", ""), "/src/a.c");
    EXPECT_EQ(normal_source_path("/src", "/src", ""), "/src");
    EXPECT_EQ(normal_source_path("/a//b/./c.c", "/x", ""), "/a/b/c.c");
    EXPECT_EQ(normal_source_path("/linux/kernel/a.c", "/x", ""), "kernel/a.c");
    EXPECT_EQ(normal_source_path("/b/linux-6.1/linux-6.1/a.c", "/x", ""), "linux-6.1/a.c");
    EXPECT_EQ(normal_source_path("/b/linux-6.1", "/x", ""), "/b/linux-6.1"); // a file
    EXPECT_EQ(normal_source_path("b/linux-6.1/a.c", "/x", ""), "b/linux-6.1/a.c");
    EXPECT_EQ(normal_source_path("debian/build/source_rt", "", ""), "debian/build/source_rt");
    EXPECT_EQ(normal_source_path("debian/other/source_rt/a.c", "", ""),
              "debian/other/source_rt/a.c");
    EXPECT_EQ(normal_source_path("", "", ""), "");
}

// The first thing that is wrong, and the forms that are right.
TEST(Pattern, WhatIsWrong) {
    for (const auto& [text, message] :
         {std::pair("", "'': the function name is missing"),
          {"@a.c", "'@a.c': the function name is missing"},
          {":5", "':5': the function name is missing"},
          {"f g", "'f g': it contains a space or a control character"},
          {"f+", "'f+': the offset after '+' is missing"},
          {"f+x", "'f+x': the offset after '+', 'x', is not a number"},
          {"f@a.c+", "'f@a.c+': the offset after '+' is missing"},
          {"f@a.c:", "'f@a.c:': the line after ':' is missing"},
          {"f@a.c:0", "'f@a.c:0': the line after ':', '0', is not a line number"},
          {"f@a.c:3-", "'f@a.c:3-': the last line of '3-' is not a line number"},
          {"f@a.c:9-3", "'f@a.c:9-3': the lines '9-3' end before they begin"},
          {"f@", "'f@': the file name after '@' is missing"},
          {"f@:5", "'f@:5': the file name after '@' is missing"},
          {"f@a.c@b", "'f@a.c@b': there is more than one '@'"},
          {"f/g@a.c", "'f/g@a.c': 'f/g' before '@' is not a function name"},
          {"shop::", "'shop::': the function name behind '::' is missing"}}) {
        const auto pattern = parse_function_pattern(text);
        ASSERT_FALSE(pattern) << text;
        EXPECT_EQ(pattern.failure().message, message);
    }
    for (const char* right : {"f@a.c:3-3", "f@a.c:1", "f@a.c:1-2", "f+0", "f:*"})
        EXPECT_TRUE(parse_function_pattern(right)) << right;
    EXPECT_EQ(parse_function_pattern("a***b**@f**.c")->function, "a*b*");
    EXPECT_EQ(parse_function_pattern("a***b**@f**.c")->file, "f*.c");
}

} // namespace
} // namespace djstap
