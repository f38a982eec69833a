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

// Of an error and of a warning, with all that they have.
TEST(Diagnostics, AreColouredAndUnderlined) {
    SourceManager sources;
    const uint32_t id = sources.add("a.stp", "one\x1b two\n\tthree");
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 5, 8, 0}, {"\a", "b"}).hint("\x1b[2J");
    diagnostics.report(DiagnosticKind::UnusedLocal, {id, 10, 99, 0}, {"x"}).note({}, "\x7f");
    diagnostics.report(DiagnosticKind::UnusedLocal, {}, {"y"});
    const std::string places = "    one? two\n         ^~~\n    hint: ?[2J\n",
                      warning = "    \tthree\n    \t^~~~~\ndjstap: note: ?\n",
                      unused = ": 'y' is assigned but never read [unused-local]\n";
    EXPECT_EQ(render_all(diagnostics),
              "a.stp:1:6: error: unexpected ?, expected b [syntax-error]\n" + places +
                  "a.stp:2:2: warning: 'x' is assigned but never read [unused-local]\n" + warning +
                  "djstap: warning" + unused);
    // As terminals have it (ECMA-48, 8.3.117): 1 is bold, 31 red, 35 magenta, 0 none of them.
    EXPECT_EQ(render_all(diagnostics, {.color = true}),
              "a.stp:1:6: \033[1;31merror\033[0m: unexpected ?, expected b [syntax-error]\n" +
                  places +
                  "a.stp:2:2: \033[1;35mwarning\033[0m: 'x' is assigned but never read "
                  "[unused-local]\n" +
                  warning + "djstap: \033[1;35mwarning\033[0m" + unused);
    EXPECT_EQ(render_all(diagnostics, {.warnings = false}),
              "a.stp:1:6: error: unexpected ?, expected b [syntax-error]\n" + places);
    EXPECT_EQ(diagnostics.error_count(), 1u);
}

TEST(Diagnostics, ArgumentsStandWhereTheMessageHasThem) {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    const auto message = [&](std::initializer_list<std::string> arguments) {
        return diagnostics.report(DiagnosticKind::SyntaxError, {}, arguments).message;
    };
    EXPECT_EQ(message({"{1}", "{0}"}), "unexpected {1}, expected {0}");
    EXPECT_EQ(message({"", ""}), "unexpected , expected ");
    EXPECT_EQ(message({"a"}), "unexpected a, expected {1}");
    EXPECT_EQ(message({}), "unexpected {0}, expected {1}");
}

// What one of several ways reported is of no interest if another one leads to the end.
TEST(Diagnostics, AreTakenBackAndReportedAgain) {
    SourceManager sources;
    const uint32_t id = sources.add("a.stp", "abc");
    Diagnostics diagnostics(sources);
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 0, 1, 0}, {"a", "x"});
    diagnostics.report(DiagnosticKind::SyntaxError, {id, 1, 2, 0}, {"b", "x"}).hint("h");
    diagnostics.report(DiagnosticKind::UnusedLocal, {id, 2, 3, 0}, {"c"});
    const std::string all = render_all(diagnostics);
    std::vector<Diagnostic> taken = diagnostics.take_back(1);
    ASSERT_EQ(taken.size(), 2u);
    EXPECT_EQ(taken[0].message, "unexpected b, expected x");
    EXPECT_EQ(taken[1].kind, DiagnosticKind::UnusedLocal);
    EXPECT_EQ(diagnostics.all().size(), 1u);
    EXPECT_EQ(diagnostics.error_count(), 1u);
    EXPECT_TRUE(diagnostics.take_back(1).empty());
    diagnostics.restore(std::move(taken));
    EXPECT_EQ(diagnostics.error_count(), 2u);
    EXPECT_EQ(render_all(diagnostics), all);
    EXPECT_EQ(diagnostics.take_back(0).size(), 3u);
    EXPECT_FALSE(diagnostics.has_errors());
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
    EXPECT_EQ(json["notes"][0]["place"]["length"], 1);
    EXPECT_EQ(json["place"]["line"], 1);
    EXPECT_EQ(json["place"]["length"], 1);
    EXPECT_EQ(json["place"]["file"], "a\xef\xbf\xbd.stp"); // U+FFFD: JSON is UTF-8
    diagnostics.report(DiagnosticKind::EmptyProbe, {});
    const auto bare = nlohmann::json::parse(render_json(diagnostics.all().back(), sources));
    EXPECT_EQ(bare, nlohmann::json::parse(R"({"severity": "warning", "kind": "empty-probe",
                                              "message": "this probe does nothing",
                                              "place": null})"));
    // Each style ends its lines.
    const auto styles = diagnostic_styles();
    ASSERT_EQ(styles.size(), 2u);
    EXPECT_EQ(styles[0].name, "text");
    EXPECT_EQ(styles[1].name, "json");
    for (const DiagnosticStyle& style : styles)
        EXPECT_TRUE(style.render(diagnostics.all().back(), sources, {}).ends_with("\n"));
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

// Of six characters or more, a name may be the last words of one candidate.
TEST(Suggest, FindsLongerNames) {
    const std::vector<std::string> one{"other", "sock_prot_num2str", "inet_num2str_v6"};
    EXPECT_EQ(did_you_mean("num2str", one), "did you mean 'sock_prot_num2str'?");
    EXPECT_EQ(did_you_mean("prot_num2str", one), "did you mean 'sock_prot_num2str'?");
    EXPECT_EQ(did_you_mean("um2str", one), ""); // no word
    EXPECT_EQ(did_you_mean("num2str", {"xyz_num2str", "sock_num2str"}), "");
    EXPECT_EQ(did_you_mean("abcdef", {"one_more_abcdef"}), "did you mean 'one_more_abcdef'?");
    EXPECT_EQ(did_you_mean("abcde", {"one_more_abcde"}), "");
    EXPECT_EQ(did_you_mean("num2str", {}), "");
    // A mistake in spelling is likelier.
    EXPECT_EQ(did_you_mean("num2str", {"sock_num2str", "num2sr"}), "did you mean 'num2sr'?");
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

// As /proc/PID/maps has them, each byte of those of two bytes.
TEST(PlainText, NumbersControlCharactersInOctal) {
    EXPECT_EQ(with_octal_controls("a\nb\tc"), "a\\012b\\011c");
    EXPECT_EQ(with_octal_controls("\x1b\x1f ~\x7f"), "\\033\\037 ~\\177");
    EXPECT_EQ(with_octal_controls(std::string("\0x", 2)), "\\000x");
    EXPECT_EQ(with_octal_controls("\xc2\x80\xc2\x9f"
                                  "c"),
              "\\302\\200\\302\\237c");
    EXPECT_EQ(with_octal_controls("\xc2\xa0\xc3\x9b\xc2"), "\xc2\xa0\xc3\x9b\xc2");
    EXPECT_EQ(with_octal_controls(""), "");
}

TEST(PlainText, NamesEachLine) {
    EXPECT_EQ(lines_of("web1", "one\ntwo\n"), "web1: one\nweb1: two\n");
    EXPECT_EQ(lines_of("web1", "one\ntwo"), "web1: one\nweb1: two\n");
    EXPECT_EQ(lines_of("a", "one\n\n\x1b\ttwo\n\n"), "a: one\na: \na: ?\ttwo\na: \n");
    for (const char* empty : {"", "\n"})
        EXPECT_EQ(lines_of("web1", empty), "web1: \n");
}
