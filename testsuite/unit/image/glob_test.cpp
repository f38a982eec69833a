// SPDX-License-Identifier: GPL-2.0-or-later
// Patterns beside those of the C library.
#include "image/glob.h"

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace djstap {
namespace {

// All texts of these characters that have at most so many of them.
std::vector<std::string> texts_of(std::string_view characters, size_t most) {
    std::vector<std::string> all{""};
    for (size_t i = 0; i < all.size(); i++)
        if (all[i].size() < most)
            for (const char c : characters)
                all.push_back(all[i] + c);
    return all;
}

void expect_like_fnmatch(const std::vector<std::string>& patterns,
                         const std::vector<std::string>& texts, int flags) {
    size_t matches = 0, wrong = 0;
    for (const std::string& pattern : patterns)
        for (const std::string& text : texts) {
            const bool expected = fnmatch(pattern.c_str(), text.c_str(), flags) == 0;
            matches += expected;
            if (glob_match(pattern, text) != expected && wrong++ < 10)
                ADD_FAILURE() << "'" << pattern << "' and '" << text << "': " << expected;
        }
    EXPECT_GT(matches, patterns.size() / 4);
    EXPECT_EQ(wrong, 0U);
}

TEST(GlobLikeFnmatch, Wildcards) {
    expect_like_fnmatch(texts_of("ab*?", 5), texts_of("abc", 5), FNM_NOESCAPE);
}

TEST(GlobLikeFnmatch, Sets) {
    std::vector<std::string> patterns;
    for (const std::string& each : texts_of("ac-]!^[", 4)) {
        patterns.push_back("[" + each + "]");
        patterns.push_back("*[" + each + "]b");
        patterns.push_back("[" + each); // it may have no end
    }
    expect_like_fnmatch(patterns, texts_of("abc-[", 2), FNM_NOESCAPE);
    EXPECT_TRUE(glob_match("[\x80-\xff]", "\x80"));
    EXPECT_TRUE(glob_match("[\x01-\xff]", "\xff"));
    EXPECT_FALSE(glob_match("[\x80-\xfe]", "\x7f"));
}

TEST(GlobLikeFnmatch, Escapes) {
    std::vector<std::string> patterns;
    for (const std::string& each : texts_of("a*?\\", 4))
        if (each.size() - std::min(each.find_last_not_of('\\') + 1, each.size()) == 0)
            patterns.push_back(each);
    expect_like_fnmatch(patterns, texts_of("a*?\\", 3), 0);
    // At its end it stands for itself.
    EXPECT_TRUE(glob_match("a\\", "a\\"));
    EXPECT_FALSE(glob_match("a\\", "a"));
    EXPECT_TRUE(glob_match("\\[a]", "[a]"));
}

TEST(GlobBraces, HaveALimit) {
    const auto choices = [](size_t count) {
        std::string pattern = "x{0";
        for (size_t i = 1; i < count; i++)
            pattern += "," + std::to_string(i);
        return pattern + "}";
    };
    EXPECT_FALSE(has_too_many_alternatives(choices(most_alternatives)));
    EXPECT_TRUE(has_too_many_alternatives(choices(most_alternatives + 1)));
    EXPECT_EQ(glob_alternatives(choices(most_alternatives + 1)).size(), most_alternatives);
    EXPECT_EQ(glob_alternatives(choices(most_alternatives)).back(),
              "x" + std::to_string(most_alternatives - 1));
    // Each is a level of recursion.
    std::string nested, flat;
    for (int i = 0; i < 64; i++) {
        nested = "{" + nested + "a}";
        flat += "{a}";
    }
    EXPECT_FALSE(has_too_many_alternatives(nested));
    EXPECT_EQ(glob_alternatives(nested), std::vector{std::string(64, 'a')});
    EXPECT_EQ(glob_alternatives(flat), std::vector{std::string(64, 'a')});
    for (const std::string& more : {"{" + nested + "a}", flat + "{a}"}) {
        EXPECT_TRUE(has_too_many_alternatives(more));
        EXPECT_EQ(glob_alternatives(more), std::vector{more});
    }
}

TEST(GlobBraces, AreTextWhereTheyAreNotWhole) {
    using Texts = std::vector<std::string>;
    EXPECT_EQ(glob_alternatives(""), Texts{""});
    EXPECT_EQ(glob_alternatives("a,b"), Texts{"a,b"});
    EXPECT_EQ(glob_alternatives("{a,b"), Texts{"{a,b"});
    EXPECT_EQ(glob_alternatives("a}{b,c}"), (Texts{"a}b", "a}c"}));
    EXPECT_EQ(glob_alternatives("{}"), Texts{""});
    EXPECT_EQ(glob_alternatives("{,}"), (Texts{"", ""}));
    EXPECT_EQ(glob_alternatives("{a,{b,c}"), Texts{"{a,{b,c}"});
    EXPECT_EQ(glob_alternatives("{a\\},b}c"), (Texts{"a\\}c", "bc"}));
    EXPECT_EQ(glob_alternatives("{a{b,c}d{e,f}}"), (Texts{"abde", "abdf", "acde", "acdf"}));
    EXPECT_EQ(glob_alternatives("\\{a,b}"), Texts{"\\{a,b}"});
}

TEST(GlobText, BeforeTheFirstWildcard) {
    for (const char* wildcard : {"*", "?", "[", "{", "\\"}) {
        const std::string pattern = "ab" + std::string(wildcard) + "c*";
        EXPECT_TRUE(has_wildcard(pattern));
        EXPECT_EQ(literal_prefix(pattern), "ab") << pattern;
    }
    for (const char* text : {"", "ab", "a]b}c,d-e!"}) {
        EXPECT_FALSE(has_wildcard(text)) << text;
        EXPECT_EQ(literal_prefix(text), text);
    }
}

} // namespace
} // namespace djstap
