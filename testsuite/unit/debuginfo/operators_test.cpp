// SPDX-License-Identifier: GPL-2.0-or-later
// The names of C++'s operators, in names and in patterns.
#include "debuginfo/debuginfo.h"
#include "debuginfo/qualified.h"

#include <gtest/gtest.h>

namespace djstap {

namespace {

std::string operator_in(std::string_view text) {
    const auto found = find_operator(text);
    if (!found)
        return "none";
    return std::string(text.substr(found->begin, found->end - found->begin)) +
           (found->is_conversion ? ", a conversion" : "");
}

TEST(Operators, EndWhereAFileOrALineFollows) {
    for (const char* name :
         {"operator+", "operator++", "operator<", "operator<<", "operator<=>", "operator()",
          "operator[]", "operator->", "operator->*", "operator,", "operator new[]",
          "operator delete", "operator==<int, long>", "operator\"\"_km"})
        for (const char* scope : {"", "::", "shop::", "shop::pair<int, long>::", "*"})
            for (const char* rest : {"", "@shop.cpp", "@shop.cpp:12", ":12", ":*", "+5"}) {
                const std::string text = std::string(scope) + name + rest;
                EXPECT_EQ(operator_in(text), name) << text;
            }
    EXPECT_EQ(operator_in("operator int"), "operator int, a conversion");
    EXPECT_EQ(operator_in("shop::operator const char*@shop.cpp:5"),
              "operator const char*, a conversion");
    EXPECT_EQ(operator_in("operator shop::pair<int, a::b>:12"),
              "operator shop::pair<int, a::b>, a conversion");
    // A type of one letter, and one that is looked for from the global scope.
    EXPECT_EQ(operator_in("operator T"), "operator T, a conversion");
    EXPECT_EQ(operator_in("T::operator T:12"), "operator T, a conversion");
    EXPECT_EQ(operator_in("operator ::shop::part:12"), "operator ::shop::part, a conversion");
    EXPECT_EQ(operator_in("operator()::operator+"), "operator+");
    for (const char* name : {"", "operator", "operator ", "xoperator+", "operator5", "my_operator+",
                             "operators", "operator+x", "shop::operator()::local", "co_operator"})
        EXPECT_EQ(operator_in(name), "none") << name;
}

TEST(Operators, AreParsedAsNamesOfFunctions) {
    const auto name_and_line = [](std::string_view text) {
        const auto pattern = parse_function_pattern(text);
        return pattern
                   ? pattern->function + " " + pattern->file + " " + std::to_string(pattern->line)
                   : pattern.failure().message;
    };
    EXPECT_EQ(name_and_line("operator+"), "operator+  0");
    EXPECT_EQ(name_and_line("operator++5"), "operator+  5");
    EXPECT_EQ(name_and_line("operator++"), "operator++  0");
    EXPECT_EQ(name_and_line("shop::operator/@a/b.cpp:7"), "shop::operator/ a/b.cpp 7");
    EXPECT_EQ(name_and_line("shop::operator int@b.cpp+7"), "shop::operator int b.cpp 7");
    EXPECT_EQ(name_and_line("operator new[]"), "operator new[]  0");
    EXPECT_EQ(name_and_line("shop::(anonymous namespace)::f"), "shop::f  0");
    EXPECT_NE(name_and_line("two words").find("space"), std::string::npos);
    EXPECT_EQ(last_name("shop::operator<"), "operator<");
    EXPECT_EQ(last_name("shop::order::operator->"), "operator->");
    EXPECT_EQ(last_name("shop::operator a::b"), "operator a::b");
}

TEST(Operators, OfConversionsAreSpelledInSeveralWays) {
    EXPECT_TRUE(means_conversion("operator const char*", "shop::order::operator char const*"));
    EXPECT_TRUE(
        means_conversion("order::operator unsigned long", "shop::order::operator long unsigned"));
    EXPECT_TRUE(means_conversion("operator long", "order::operator long int"));
    EXPECT_TRUE(means_conversion("operator signed long long int", "operator long long"));
    EXPECT_TRUE(means_conversion("operator unsigned", "operator unsigned int"));
    EXPECT_TRUE(means_conversion("operator signed", "operator int"));
    EXPECT_TRUE(means_conversion("operator short*", "operator short int*"));
    EXPECT_FALSE(means_conversion("operator long", "operator long long int"));
    EXPECT_FALSE(means_conversion("operator unsigned", "operator int"));
    EXPECT_FALSE(means_conversion("operator char", "operator signed char"));
    EXPECT_FALSE(means_conversion("operator long", "operator long double"));
    EXPECT_TRUE(means_conversion("::shop::operator int", "shop::operator int"));
    EXPECT_FALSE(means_conversion("::operator int", "shop::operator int"));
    EXPECT_FALSE(means_conversion("store::operator int", "shop::operator int"));
    EXPECT_FALSE(means_conversion("operator char* const", "shop::operator char const*"));
    EXPECT_FALSE(means_conversion("operator char*", "shop::operator char"));
    EXPECT_FALSE(means_conversion("operator+", "shop::operator+"));
}

} // namespace

} // namespace djstap
