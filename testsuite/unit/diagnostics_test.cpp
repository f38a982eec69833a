// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/diagnostic.h"
#include "diagnostics/foreign_words.h"
#include "diagnostics/plain_text.h"
#include "diagnostics/suggest.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace djstap;

TEST(Source, PositionsCountFromOne) {
    SourceManager sources;
    uint32_t id = sources.add("a.stp", "one\ntwo\r\n\nfour");
    EXPECT_EQ(sources.position({id, 0, 1, 0}).line, 1u);
    EXPECT_EQ(sources.position({id, 3, 4, 0}).column, 4u);
    EXPECT_EQ(sources.position({id, 4, 5, 0}).line, 2u);
    EXPECT_EQ(sources.line(id, 2), "two");
    EXPECT_EQ(sources.line(id, 3), "");
    EXPECT_EQ(sources.line(id, 4), "four");
    EXPECT_EQ(sources.line(id, 5), "");
    EXPECT_EQ(sources.where({id, 10, 11, 0}), "a.stp:4:1");
    const uint32_t empty_first = sources.add("b.stp", "\nx");
    EXPECT_EQ(sources.where({empty_first, 1, 2, 0}), "b.stp:2:1");
    EXPECT_EQ(sources.where({}), "djstap");
}

TEST(Source, RangesOutsideOfTheTextAreCut) {
    SourceManager sources;
    uint32_t id = sources.add("a.stp", "abc");
    EXPECT_EQ(sources.text({id, 1, 99, 0}), "bc");
    EXPECT_EQ(sources.text({id, 50, 99, 0}), "");
    EXPECT_EQ(sources.text({}), "");
}

TEST(Source, RangesJoinOnlyWithinOneText) {
    SourceRange a{1, 2, 4, 0}, b{1, 8, 9, 0}, other{2, 0, 1, 0};
    EXPECT_EQ(a.to(b).begin, 2u);
    EXPECT_EQ(a.to(b).end, 9u);
    EXPECT_EQ(a.to(other).file, 2u);
}

TEST(Diagnostics, TagsAreUniqueAndMessagesEndWithoutAStop) {
    std::set<std::string_view> tags;
    for (const DiagnosticInfo& kind : all_diagnostics()) {
        EXPECT_TRUE(tags.insert(kind.tag).second) << kind.tag;
        EXPECT_FALSE(kind.message.empty()) << kind.tag;
        EXPECT_NE(kind.message.back(), '.') << kind.tag;
        for (char c : kind.tag)
            EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') << kind.tag;
    }
}

TEST(Diagnostics, RendersPlaceCaretHintAndNotes) {
    SourceManager sources;
    uint32_t id = sources.add("a.stp", "probe begin {\n\tx = }\n");
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 19, 20, 0}, {"'}'", "an expression"})
        .hint("do this")
        .note({id, 12, 13, 0}, "opened here");
    EXPECT_EQ(render_all(diagnostics),
              "a.stp:2:6: error: unexpected '}', expected an expression [syntax-error]\n"
              "    \tx = }\n"
              "    \t    ^\n"
              "    hint: do this\n"
              "a.stp:1:13: note: opened here\n"
              "    probe begin {\n"
              "                ^\n");
    EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Diagnostics, NamesTheExpansionThatLedThere) {
    SourceManager sources;
    uint32_t id = sources.add("a.stp", "@define m %( bad %)\n@m\n");
    uint32_t expansion = sources.add_expansion("m", {id, 20, 22, 0});
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 13, 16, expansion}, {"'bad'", "more"});
    EXPECT_NE(render_all(diagnostics).find("a.stp:2:1: note: in the expansion of macro 'm'"),
              std::string::npos);
}

TEST(Diagnostics, TheSameIsRecordedOnce) {
    SourceManager sources;
    uint32_t id = sources.add("a.stp", "x");
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 0, 1, 0}, {"a", "b"});
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 0, 1, 0}, {"a", "b"});
    EXPECT_EQ(diagnostics.error_count(), 1u);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 0, 1, 0}, {"a", "c"});
    EXPECT_EQ(diagnostics.error_count(), 2u);
}

TEST(Diagnostics, LongLinesAreCutAroundTheCaret) {
    SourceManager sources;
    std::string line(5000, 'x');
    line[4000] = '!';
    uint32_t id = sources.add("a.stp", line);
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 4000, 4001, 0}, {"'!'", "less"});
    std::string text = render_all(diagnostics);
    EXPECT_LT(text.size(), 600u);
    size_t shown = text.find('!', text.find('\n'));
    size_t caret = text.find('^');
    ASSERT_NE(shown, std::string::npos);
    EXPECT_EQ(shown - text.rfind('\n', shown), caret - text.rfind('\n', caret));
}

// Wherever the mistake is, and also behind the last column.
TEST(Diagnostics, EachColumnOfALongLineIsShown) {
    for (const size_t length : {size_t{159}, size_t{160}, size_t{161}, size_t{400}})
        for (size_t column = 0; column <= length; column++) {
            SourceManager sources;
            std::string line(length, 'x');
            if (column < length)
                line[column] = '!';
            const uint32_t id = sources.add("a.stp", line + "\nmore");
            Diagnostics diagnostics(sources);
            const auto at = static_cast<uint32_t>(column);
            diagnostics.report(DiagnosticKind::SyntaxError, {id, at, at + 3, 0}, {"it", "less"});
            const std::string text = render_all(diagnostics);
            const size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
            const std::string shown = text.substr(first, second - 1 - first),
                              carets = text.substr(second, text.find('\n', second) - second);
            const size_t caret = carets.find('^');
            ASSERT_NE(caret, std::string::npos) << text;
            EXPECT_EQ(caret, column < length ? shown.find('!') : shown.size()) << column;
            EXPECT_LE(shown.size(), 164U);
            // No mark is behind the line, but the caret itself.
            EXPECT_LE(carets.size(), std::max(shown.size(), caret + 1)) << column;
        }
}

TEST(Diagnostics, JsonHoldsWhatTheTextHolds) {
    SourceManager sources;
    uint32_t id = sources.add("a\xff.stp", "ab");
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 1, 2, 0}, {"'b'", "a"})
        .hint("h")
        .note({id, 0, 1, 0}, "n");
    auto json = nlohmann::json::parse(render_json(diagnostics.all().front(), sources));
    EXPECT_EQ(json["kind"], "syntax-error");
    EXPECT_EQ(json["severity"], "error");
    EXPECT_EQ(json["place"]["column"], 2);
    EXPECT_EQ(json["hint"], "h");
    EXPECT_EQ(json["notes"][0]["message"], "n");
}

TEST(Suggest, FindsTheNearestName) {
    EXPECT_EQ(did_you_mean("prnt", {"printk", "print", "HZ"}), "did you mean 'print'?");
    EXPECT_EQ(did_you_mean("zzz", {"print"}), "");
    EXPECT_EQ(edit_distance("ab", "ba"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_FALSE(nearest("print", {"print"}).has_value());
    // Transposed letters are one mistake, wherever they are.
    for (const char* name : {"rpint", "pirnt", "prnit", "pritn"})
        EXPECT_EQ(edit_distance(name, "print"), 1u) << name;
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    // A third of the letters may be wrong, at least one.
    EXPECT_EQ(nearest("abcdef", {"abcdefgh"}), "abcdefgh");
    EXPECT_FALSE(nearest("abcdef", {"abcdefghi"}).has_value());
    EXPECT_EQ(nearest("abcdefgh", {"abcdef"}), "abcdef");
    EXPECT_FALSE(nearest("abcde", {"abc"}).has_value());
    EXPECT_EQ(nearest("ab", {"a"}), "a");
    EXPECT_EQ(nearest("abcdef", {"xbcdey", "abcdex", "abcdey"}), "abcdex"); // the first nearest
}

// What other languages call the arguments of a probed function.
TEST(Suggest, KnowsArgumentsOfOtherLanguages) {
    for (char digit = '0'; digit <= '9'; digit++)
        EXPECT_NE(hint_for_foreign_value(std::string("arg") + digit).find("long_arg(1)"),
                  std::string::npos)
            << digit;
    for (const char* other : {"arg", "arg/", "arg:", "arg10", "arga", "brg1", "1arg", ""})
        EXPECT_EQ(hint_for_foreign_value(other), "") << other;
    EXPECT_NE(hint_for_foreign_value("strncmp"), "");
    EXPECT_EQ(hint_for_foreign_value("strncm"), "");
    EXPECT_EQ(hint_for_foreign_probe("strncmp"), "");
}

TEST(PlainText, ReplacesWhatATerminalObeys) {
    EXPECT_EQ(without_controls("vfs_read\x1b[2J\x7f\r\a"), "vfs_read?[2J???");
    EXPECT_EQ(without_controls("\ttwo\nlines"), "\ttwo\nlines");
    // CSI as one character of Latin-1's upper half, in UTF-8: 0xc2 0x9b
    EXPECT_EQ(without_controls("a\xc2\x80"
                               "b\xc2\x9f"
                               "c"),
              "a?b?c");
    EXPECT_EQ(without_controls("\xc2\xa0\xc3\x9b\xc2"), "\xc2\xa0\xc3\x9b\xc2");
    EXPECT_EQ(without_controls(""), "");
    EXPECT_EQ(without_controls("\xc2\xa9\xc2\x9f\xc2\xc2\x80\xc3\x80"), "\xc2\xa9?\xc2?\xc3\x80");
}
