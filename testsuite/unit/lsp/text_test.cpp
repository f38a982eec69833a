// SPDX-License-Identifier: GPL-2.0-or-later
#include "lsp/text.h"

#include <gtest/gtest.h>

namespace djstap::lsp {
namespace {

TEST(LspText, PositionsCountUtf16) {
    // a, then 2, 3 and 4 bytes: 1, 1 and 2 units
    const Text text("x\na\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\r\nlast");
    for (auto [offset, position] : {std::pair{size_t{0}, Position{0, 0}},
                                    {1, {0, 1}},
                                    {2, {1, 0}},
                                    {3, {1, 1}},
                                    {5, {1, 2}},
                                    {8, {1, 3}},
                                    {12, {1, 5}},
                                    {13, {1, 6}},
                                    {15, {2, 0}},
                                    {19, {2, 4}}}) {
        EXPECT_EQ(text.position(offset), position) << offset;
        EXPECT_EQ(text.offset(position), offset);
    }
}

// The first and the last character of each length, between two others.
TEST(LspText, CountsTheBytesOfEachCharacter) {
    for (const auto& [character, units] : {std::pair{"\x7f", 1U},
                                           {"\xc2\x80", 1U},
                                           {"\xdf\xbf", 1U},
                                           {"\xe0\xa0\x80", 1U},
                                           {"\xef\xbf\xbf", 1U},
                                           {"\xf0\x90\x80\x80", 2U},
                                           {"\xf4\x8f\xbf\xbf", 2U}}) {
        const std::string bytes(character);
        const Text text("a" + bytes + "b");
        EXPECT_EQ(text.offset({0, 1}), 1U);
        EXPECT_EQ(text.offset({0, 1 + units}), 1 + bytes.size());
        EXPECT_EQ(text.position(1 + bytes.size()), (Position{0, 1 + units}));
    }
    // What continues none is a character by itself.
    EXPECT_EQ(Text("\x80\xbf").offset({0, 1}), 1U);
}

// RFC 3629, section 4: no character has them.
TEST(LspText, BytesThatBeginNoCharacterAreOneEach) {
    for (const char* byte : {"\x80", "\xbf", "\xc0", "\xc1", "\xf5", "\xff"}) {
        const Text text(byte + std::string("\x80\x80\x80z"));
        for (uint32_t at = 0; at <= 5; at++) {
            EXPECT_EQ(text.offset({0, at}), at);
            EXPECT_EQ(text.position(at), (Position{0, at}));
        }
    }
}

TEST(LspText, LinesMayBeEmpty) {
    const Text text("\n\n\r\nx");
    EXPECT_EQ(text.position(0), (Position{0, 0}));
    EXPECT_EQ(text.position(1), (Position{1, 0}));
    EXPECT_EQ(text.position(2), (Position{2, 0}));
    EXPECT_EQ(text.position(4), (Position{3, 0}));
    EXPECT_EQ(text.offset({0, 5}), 0U);
    EXPECT_EQ(text.offset({1, 0}), 1U);
    EXPECT_EQ(text.offset({3, 0}), 4U);
}

TEST(LspText, PlacesOutsideMeanTheNearest) {
    const Text text("ab\r\n\xf0\x9f\x98\x80");
    EXPECT_EQ(text.offset({0, 99}), 2U);
    EXPECT_EQ(text.offset({7, 0}), text.text().size());
    EXPECT_EQ(text.offset({1, 1}), 4U); // in the middle of a character
    EXPECT_EQ(text.position(6), (Position{1, 0}));
    EXPECT_EQ(text.position(99), (Position{1, 2}));
    EXPECT_EQ(Text().offset({3, 3}), 0U);
    const Text broken("\xf0\x9f");
    EXPECT_EQ(broken.position(2).line, 0U);
    EXPECT_EQ(broken.offset({0, 9}), 2U);
}

TEST(LspText, WordsAreNames) {
    const Text text("x = execname() + $$parms + @count(a) $x->y vfs.read");
    auto word = [&](size_t offset) {
        const Text::Word found = text.word(offset);
        return text.text().substr(found.begin, found.end - found.begin);
    };
    for (size_t offset = 4; offset <= 12; offset++)
        EXPECT_EQ(word(offset), "execname");
    for (size_t offset = 17; offset <= 24; offset++)
        EXPECT_EQ(word(offset), "$$parms") << offset;
    for (size_t offset = 27; offset <= 33; offset++)
        EXPECT_EQ(word(offset), "@count") << offset;
    EXPECT_EQ(word(37), "$x");
    EXPECT_EQ(word(41), "y");
    EXPECT_EQ(word(43), "vfs");
    EXPECT_EQ(word(48), "read");
    EXPECT_EQ(word(2), "");
    EXPECT_EQ(word(0), "x"); // the first character
    for (const char* whole : {"vfs", "$x", "@count", "$$parms", "x"}) {
        const Text only((std::string(whole)));
        for (size_t at = 1; at <= only.text().size(); at++) {
            EXPECT_EQ(only.word(at).begin, 0U) << whole << at;
            EXPECT_EQ(only.word(at).end, only.text().size()) << whole << at;
        }
    }
    EXPECT_EQ(word(999), "read");
}

} // namespace
} // namespace djstap::lsp
