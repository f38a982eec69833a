// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/qualified.h"

#include <gtest/gtest.h>

using namespace djstap;

namespace {

std::string parts_of(std::string_view symbol) {
    const auto found = scoped_name(symbol);
    return found ? found->scope + " | " + found->name : "none";
}

} // namespace

TEST(Qualified, SymbolsOfCxx) {
    EXPECT_EQ(parts_of("_ZN4shop7throwerEi"), "shop | thrower");
    EXPECT_EQ(parts_of("_Z7throweri"), " | thrower");
    EXPECT_EQ(parts_of("_ZNK4shop5order5totalEi"), "shop::order | total");
    EXPECT_EQ(parts_of("_ZN4shop5orderC1Ei"), "shop::order | order");
    EXPECT_EQ(parts_of("_ZN4shop5twiceIiEET_S1_"), "shop | twice");
    EXPECT_EQ(parts_of("_ZN4shop12_GLOBAL__N_16hiddenEi"), "shop | hidden");
    EXPECT_EQ(parts_of("_ZN12_GLOBAL__N_16hiddenEi"), " | hidden");
    EXPECT_EQ(parts_of("_ZL6hiddeni.isra.0.cold"), " | hidden");
}

TEST(Qualified, SymbolsOfRust) {
    EXPECT_EQ(parts_of("_ZN4shop5Order5total17h0123456789abcdefE"), "shop::Order | total");
    EXPECT_EQ(
        parts_of("_ZN56_$LT$shop..Order$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE"),
        "none"); // its length is wrong
    EXPECT_EQ(
        parts_of("_ZN48_$LT$shop..Order$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE"),
        "<shop::Order as core::fmt::Debug> | fmt");
    // Of a method that belongs to no trait.
    EXPECT_EQ(parts_of("_ZN20_$LT$shop..Order$GT$5total17h0123456789abcdefE"),
              "shop::Order | total");
    EXPECT_EQ(parts_of("_RNvNtCs1234_2rs4shop7thrower"), "rs::shop | thrower");
    EXPECT_EQ(parts_of("_RNvMNtCs1234_2rs4shopNtB2_5Order5total"), "rs::shop::Order | total");
    EXPECT_EQ(parts_of("_RINvNtCs1234_2rs4shop5twicelEB4_"), "rs::shop | twice");
}

TEST(Qualified, OthersHaveNone) {
    for (const char* symbol : {"", "main", "_Z", "_R", "_ZN", "_ZTVN4shop5orderE",
                               "_ZN4shop7counterE", "_Z......................."})
        EXPECT_EQ(parts_of(symbol), "none") << symbol;
    EXPECT_EQ(parts_of("_ZN4shop7throwerEi."), "shop | thrower"); // a suffix without a name
}

// A pointer to a pointer and so on: the demangler would leave its stack.
TEST(Qualified, HostileSymbolsHaveNone) {
    const std::string deep(300000, 'P');
    EXPECT_EQ(parts_of("_Z1f" + deep + "i"), "none");
    EXPECT_EQ(parts_of("_ZN4shop5orderE" + deep.substr(0, 1000) + "i"), "shop | order");
}

// Each parameter is a template that refers to the one before twice: without its end, the text of
// the last would have 2^34 parts.
TEST(Qualified, SymbolsThatStandForTooMuchHaveNone) {
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string symbol = "_ZN4shop1fE1PI1AS1_E", rust = "_RINvCs1234_1a1f";
    for (size_t i = 2; i < digits.size(); i++)
        symbol += std::string("S0_IS") + digits[i] + "_S" + digits[i] + "_E";
    EXPECT_EQ(parts_of(symbol.substr(0, 31)), "shop | f");
    EXPECT_EQ(parts_of(symbol), "none");
    // What libiberty does not read, as it is too long.
    EXPECT_EQ(parts_of(symbol + std::string(1000, 'i')), "none");
    EXPECT_EQ(parts_of("_ZN4shop1fE" + std::string(1100, 'i')), "shop | f");
    // Tuples of Rust; a reference is the offset behind _R.
    size_t last = rust.size() - 2;
    rust += "TmmE";
    for (int i = 0; i < 40; i++) {
        const size_t at = rust.size() - 2;
        const auto reference = [](size_t to) {
            std::string text;
            for (to--; text.empty() || to; to /= 62)
                text.insert(text.begin(), static_cast<char>(to % 62 < 10   ? '0' + to % 62
                                                            : to % 62 < 36 ? 'a' + to % 62 - 10
                                                                           : 'A' + to % 62 - 36));
            return "B" + text + "_";
        };
        rust += "T" + reference(last) + reference(last) + "E";
        last = at;
        if (i == 2) {
            EXPECT_EQ(parts_of(rust + "E"), "a | f") << rust;
        }
    }
    EXPECT_EQ(parts_of(rust + "E"), "none") << rust;
}

TEST(Qualified, PatternsMatchTheLastParts) {
    EXPECT_TRUE(qualified_matches("shop::total", "shop::total"));
    EXPECT_TRUE(qualified_matches("order::total", "shop::order::total"));
    EXPECT_TRUE(qualified_matches("shop::*", "a::shop::order::total"));
    EXPECT_TRUE(qualified_matches("::shop::*", "shop::total"));
    EXPECT_TRUE(qualified_matches("::total", "total"));
    EXPECT_FALSE(qualified_matches("::total", "shop::total"));
    EXPECT_FALSE(qualified_matches("shop::total", "total"));
    EXPECT_FALSE(qualified_matches("hop::total", "shop::total"));
    EXPECT_FALSE(qualified_matches("shop::tota", "shop::total"));
    EXPECT_EQ(last_name("shop::pair<a::b, c>::get"), "get");
    EXPECT_EQ(last_name("shop::twice<a::b>"), "twice<a::b>");
    EXPECT_EQ(last_name("main"), "main");
}

TEST(Qualified, ScopesOfPatternsMayBeAmongOthers) {
    EXPECT_TRUE(has_scopes_of("shop::total", "shop::v2::total"));
    EXPECT_TRUE(has_scopes_of("::shop::*", "shop::v2::total"));
    EXPECT_TRUE(has_scopes_of("a::pair<b::c>::get", "a::v2::pair<b::c>::get"));
    EXPECT_TRUE(has_scopes_of("sh*::v?::total", "order::total"));
    EXPECT_TRUE(has_scopes_of("shop::operator<<", "shop::v2::operator<<"));
    EXPECT_TRUE(has_scopes_of("total", "order::total"));
    EXPECT_FALSE(has_scopes_of("shop::*", "order::total"));
    EXPECT_FALSE(has_scopes_of("shop::order::*", "shop::v2::total"));
    EXPECT_FALSE(has_scopes_of("::shop::total", "total"));
}
