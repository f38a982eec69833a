// SPDX-License-Identifier: GPL-2.0-or-later
#include "documentation/documentation.h"

#include "documentation/comments.h"
#include "documentation/variables.h"
#include "library/library.h"

#include "surroundings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace djstap {
namespace {

using documentation::Comments;
using documentation::Entry;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Comments read(std::string_view text, const Names& defined) {
    return documentation::read_comments(text, [&](const std::string& name) {
        return name.find('*') != std::string::npos ||
               std::ranges::find(defined, name) != defined.end();
    });
}

Names heads(const Entry& entry) {
    Names names;
    for (const Entry::Head& head : entry.heads)
        names.push_back(head.name);
    return names;
}

TEST(Comments, AnEntryBeginsWithTheNamesThatItDescribes) {
    const Comments comments = read("// a(), b(n): what they yield,\n// in two lines.\n"
                                   "// c.d, .return, c.e, .return: two aliases.\n// c.*: others.\n",
                                   {"a", "b", "c.d", "c.d.return", "c.e", "c.e.return"});
    ASSERT_EQ(comments.entries.size(), 3u);
    EXPECT_EQ(heads(comments.entries[0]), (Names{"a", "b"}));
    EXPECT_EQ(comments.entries[0].heads[1].arguments, "(n)");
    EXPECT_EQ(comments.entries[0].text, "what they yield, in two lines.");
    EXPECT_EQ(heads(comments.entries[1]), (Names{"c.d", "c.d.return", "c.e", "c.e.return"}));
    EXPECT_EQ(heads(comments.entries[2]), Names{"c.*"});
    EXPECT_EQ(comments.entries[2].line, 4u);
}

TEST(Comments, AListOfNamesMayContinue) {
    const Comments comments =
        read("// first(a),\n// second(a,\n// b): both.\n", {"first", "second"});
    ASSERT_EQ(comments.entries.size(), 1u);
    EXPECT_EQ(heads(comments.entries[0]), (Names{"first", "second"}));
    EXPECT_EQ(comments.entries[0].text, "both.");
}

// With a blank before the next line's names, or without one; to the end of the comment.
TEST(Comments, AListOfNamesMayContinueWithoutABlank) {
    const Comments comments = read("// first(a),\n//second(a): both.\n", {"first", "second"});
    ASSERT_EQ(comments.entries.size(), 1u);
    EXPECT_EQ(heads(comments.entries[0]), (Names{"first", "second"}));
    EXPECT_TRUE(read("// first(a),\nsecond(a): x\n", {"first", "second"}).entries.empty());
}

TEST(Comments, WordsThatAreNoNamesBelongToTheText) {
    const Comments comments = read("// a(): text.\n// Note: this is no name.\n", {"a"});
    ASSERT_EQ(comments.entries.size(), 1u);
    EXPECT_EQ(comments.entries[0].text, "text. Note: this is no name.");
}

TEST(Comments, IndentedLinesAreItemsOrExamples) {
    const Comments comments = read("// SPDX-License-Identifier: X\n// About the file.\n"
                                   "//   every, where: in all\n\n"
                                   "// a.b: an alias.\n//   x, y: two\n//     lines\n//   z: one\n"
                                   "//\n//     an example\n//     of two lines\n//\n// More.\n",
                                   {"a.b"});
    EXPECT_EQ(comments.text, "About the file.");
    ASSERT_EQ(comments.items.size(), 1u);
    EXPECT_EQ(comments.items[0].names, (Names{"every", "where"}));
    ASSERT_EQ(comments.entries.size(), 1u);
    const Entry& entry = comments.entries[0];
    ASSERT_EQ(entry.items.size(), 2u);
    EXPECT_EQ(entry.items[0].names, (Names{"x", "y"}));
    EXPECT_EQ(entry.items[0].text, "two lines");
    EXPECT_EQ(entry.text, "an alias.\n\n    an example\n    of two lines\n\nMore.");
}

TEST(Comments, BrokenOnesAreText) {
    for (const char* text : {"//", "// ", "// (", "// a(", "// .return: x", "// a(: x", "//   :",
                             "//   x:", "//      ", "// a,", "// a(),\n// ", "// @: x", "// a.: x"})
        EXPECT_TRUE(read(text, {"b"}).entries.empty()) << text;
    EXPECT_EQ(documentation::comment_above("", 1).text, "");
    EXPECT_EQ(documentation::comment_above("*/", 2).text, "");
    EXPECT_EQ(documentation::comment_above("//\n", 900).text, "");
}

TEST(Comments, TheCommentAboveMayBeOfAnyKind) {
    EXPECT_EQ(documentation::comment_above("x\n// One.\n// Two.\nprobe a = b {}\n", 4).text,
              "One. Two.");
    const Entry block = documentation::comment_above(
        "/**\n * What it is.\n * @n: a number\n */\nfunction f(n) {}\n", 5);
    EXPECT_EQ(block.text, "What it is.");
    ASSERT_EQ(block.items.size(), 1u);
    EXPECT_EQ(block.items[0].names, Names{"n"});
    const Entry titled = documentation::comment_above(
        "/**\n * sfunction f - What it is\n * @n: a number\n *     of things\n *\n"
        " * Description: more - or less.\n */\nfunction f(n) {}\n",
        8);
    EXPECT_EQ(titled.text, "What it is\n\nDescription: more - or less.");
    ASSERT_EQ(titled.items.size(), 1u);
    EXPECT_EQ(titled.items[0].text, "a number of things");
    EXPECT_EQ(documentation::comment_above("// probe a\nprobe a = b {}\n", 2).text, "probe a");
    EXPECT_EQ(documentation::comment_above("// probe - b\nprobe a = b {}\n", 2).text, "probe - b");
    EXPECT_EQ(documentation::comment_above("// Apart.\n\nprobe a = b {}\n", 3).text, "");
    // A block in one line, at the beginning of the file; one that begins nowhere.
    EXPECT_EQ(documentation::comment_above("/* What it is.*/\nprobe a = b {}\n", 2).text,
              "What it is.");
    EXPECT_EQ(documentation::comment_above("other\nends */\nprobe a = b {}\n", 3).text, "");
    EXPECT_EQ(documentation::comment_above("# One.\n# Two.\nprobe a = b {}\n", 3).text, "Two.")
        << "the first line may name the interpreter";
}

TEST(Documentation, NamesHaveNoArguments) {
    EXPECT_EQ(plain_name("errno_str()"), "errno_str");
    EXPECT_EQ(plain_name("kernel.function(\"a)b\").return"), "kernel.function.return");
    EXPECT_EQ(plain_name("timer.s(1)"), "timer.s");
    EXPECT_EQ(plain_name("f("), "f");
    EXPECT_EQ(plain_name(")"), ")");
    EXPECT_EQ(plain_name(""), "");
}

TEST(Documentation, TheFirstSentenceEndsWithItsSign) {
    EXPECT_EQ(first_sentence("One. Two."), "One.");
    EXPECT_EQ(first_sentence("With 0.5 of it. Two."), "With 0.5 of it.");
    EXPECT_EQ(first_sentence("no end"), "no end");
    EXPECT_EQ(first_sentence("What is it? This."), "What is it?");
    EXPECT_EQ(first_sentence("It is a.c"), "It is a.c");
    EXPECT_EQ(first_sentence("It is."), "It is.");
    EXPECT_EQ(first_sentence(". x"), ".");
    EXPECT_EQ(first_sentence(""), "");
    EXPECT_EQ(first_sentence("One\n\ntwo."), "One");
}

// Each word has a text of its own, also if several share one row; a kind of points has the forms
// that begin with its name.
TEST(Language, PointsHaveTheirForms) {
    const Names all{"begin",
                    "begin(NUMBER)",
                    "beginning",
                    "timer.s(NUMBER)",
                    "timer.s(NUMBER).randomize(NUMBER)",
                    "timer.sec(NUMBER)",
                    "kernel.function(STRING)",
                    "kernel.function(STRING).call"};
    const std::vector<Documentation> language = document_language(all);
    const auto of = [&](const std::string& name) {
        const auto found = std::ranges::find(language, name, &Documentation::name);
        return found == language.end() ? Documentation() : *found;
    };
    EXPECT_EQ(of("begin").points, (Names{"begin", "begin(NUMBER)"}));
    EXPECT_EQ(of("timer.s").points,
              (Names{"timer.s(NUMBER)", "timer.s(NUMBER).randomize(NUMBER)"}));
    EXPECT_EQ(of("timer.sec").points, Names{"timer.sec(NUMBER)"});
    EXPECT_EQ(of("kernel.function").points,
              (Names{"kernel.function(STRING)", "kernel.function(STRING).call"}));
    EXPECT_EQ(of("kernel.function.call").points, Names{"kernel.function(STRING).call"});
    EXPECT_TRUE(of("never").points.empty());
    EXPECT_EQ(of("never").text, "Never hit; its handler is checked as any other.");
    EXPECT_EQ(of("timer.s").text, of("timer.sec").text);
    EXPECT_EQ(of("timer.s").kind, DocumentedKind::ProbePoint);
    for (const char* word : {"foreach", "while", "@count", "@hist_log"})
        EXPECT_EQ(of(word).signatures.size(), 1U) << word;
    std::vector<std::string> names;
    for (const Documentation& each : language) {
        names.push_back(each.name);
        EXPECT_FALSE(each.name.empty() || each.text.empty());
        EXPECT_EQ(each.summary, first_sentence(each.text)) << each.name;
        EXPECT_EQ(each.signatures.empty(), each.kind == DocumentedKind::ProbePoint) << each.name;
        if (each.kind != DocumentedKind::ProbePoint) {
            EXPECT_FALSE(each.signatures.at(0).empty()) << each.name;
            EXPECT_TRUE(each.points.empty()) << each.name;
        }
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

struct OwnLibrary : testing::Test {
    void SetUp() override {
        context.kernel_release = [] { return "6.1.0-test"; };
        context.kernel_config = [](const std::string&) { return ""; };
        fs::create_directories(path + "/lib");
    }
    std::vector<Documentation> document(const std::string& text, const std::string& macros = "") {
        std::ofstream(path + "/lib/own.stp") << text;
        std::ofstream(path + "/lib/own.stpm") << macros;
        library = Library::open({path + "/lib"}, sources, context, diagnostics);
        return document_library(*library, sources);
    }
    static std::string variables(const Documentation& name) {
        std::string text;
        for (const Documentation::Variable& each : name.variables)
            text += (text.empty() ? "" : " ") + each.name + ":" + each.type;
        return text;
    }

    const test::TestFolder own_folder;
    const std::string path = own_folder.path;
    const test::Environment cache{"DJSTAP_CACHE", path + "/cache"};
    SourceManager sources;
    Diagnostics diagnostics{sources};
    PreprocessorContext context;
    std::unique_ptr<Library> library;
};

TEST_F(OwnLibrary, VariablesHaveTheTypesOfWhatIsAssigned) {
    const auto names =
        document("private function hidden() { return \"x\" }\n"
                 "function shown(a:long, b) { if (a) return sprint(b) return \"\" }\n"
                 "global counted\n"
                 "probe own.first = begin {\n"
                 "  a = 1 b = \"x\" c = $x d = $x$ e = hidden() f = a . b g = shown(1, 2)\n"
                 "  try { h = @entry($y) } catch { h = 0 } i = a ? b : \"\" j = $$parms\n"
                 "  __own = 1 counted++ k = l = m++ n = $x->y[1] o .= \"z\" p = unknown()\n"
                 "}\n");
    ASSERT_EQ(names.size(), 3u);
    EXPECT_EQ(names[0].signatures, Names{"shown:string (a:long, b)"});
    EXPECT_EQ(variables(names[2]),
              "a:long b:string c:long d:string e:string f:string g:string h:long i:string j:string "
              "m:long l:long k:long n:long o:string p:");
}

// What a function returns may be one of its parameters, whose type only a declaration tells.
TEST_F(OwnLibrary, ResultsHaveTheTypesOfParameters) {
    const auto names = document("function text(a:string, b) { return a }\n"
                                "function number(a:string, b:long) { c = b return c }\n"
                                "function unknown_one(a:long, b) { return b }\n"
                                "probe own.first = begin { a = text(\"\", 1) b = number(\"\", 2) "
                                "c = unknown_one(1, 2) }\n");
    const auto first = std::ranges::find(names, "own.first", &Documentation::name);
    ASSERT_NE(first, names.end()) << render_all(diagnostics);
    EXPECT_EQ(variables(*first), "a:string b:long c:");
    const auto text = std::ranges::find(names, "text", &Documentation::name);
    ASSERT_NE(text, names.end());
    EXPECT_EQ(text->signatures, Names{"text:string (a:string, b)"});
}

// Also in what is executed only sometimes, and again. Elements of arrays, and what the kernel has,
// are no variables.
TEST_F(OwnLibrary, VariablesAreAssignedInEveryStatement) {
    const auto names = document("global table\n"
                                "probe own.first = begin {\n"
                                "  table[1] = 2 $x = 3\n"
                                "  if (1) a = 1 else b = \"\"\n"
                                "  while (0) { c = 1 }\n"
                                "  for (d = 0; d < 3; d++) e = \"\"\n"
                                "  foreach (k in table) { f = 1 }\n"
                                "  try { g = \"\" } catch { h = 1 }\n"
                                "  { i = 1 }\n"
                                "}\n");
    const auto first = std::ranges::find(names, "own.first", &Documentation::name);
    ASSERT_NE(first, names.end());
    EXPECT_EQ(variables(*first), "a:long b:string c:long d:long e:string f:long g:string h:long "
                                 "i:long");
}

// What an expression is, without the types of arrays and of C code, which only a compilation knows.
TEST_F(OwnLibrary, VariablesHaveTheTypesOfExpressions) {
    const auto names =
        document("global table, t\n"
                 "probe own.first = begin {\n"
                 "  a = @cast($p, \"t\")->m b = @cast($p, \"t\")->m$ c = a->m d = a->m$$\n"
                 "  e = table[1] f = -1 g = 1 == 2 h = 1 in table i = b =~ \"x\"\n"
                 "  j = @count(t) k = @defined($x) l = &$x->y m = %{ 1 %} n -= 1\n"
                 "  o = println(1) p = sprintf(\"%d\", 1) q = @entry($x$) t <<< 1\n"
                 "}\n");
    const auto first = std::ranges::find(names, "own.first", &Documentation::name);
    ASSERT_NE(first, names.end()) << render_all(diagnostics);
    EXPECT_EQ(variables(*first),
              "a:long b:string c:long d:string e: f:long g:long h:long i:long j:long k:long l:long "
              "m: n:long o: p:string q:string");
}

// Of all aliases of as many parts, whose names begin as the pattern does.
TEST_F(OwnLibrary, AnAliasOfAPatternHasTheVariablesOfAll) {
    const auto names = document("probe own.pa = begin { a = 1 }\nprobe own.pb = begin { b = 1 }\n"
                                "probe own.q = begin { c = 1 }\n"
                                "probe own.pa.deep = begin { d = 1 }\n"
                                "probe all.of = own.p* { e = 1 }\n");
    const auto all = std::ranges::find(names, "all.of", &Documentation::name);
    ASSERT_NE(all, names.end());
    EXPECT_EQ(variables(*all), "a:long b:long e:long");
}

TEST_F(OwnLibrary, SentencesBeginWithACapitalLetter) {
    const auto first = [&](const std::string& function, const std::string& words) {
        const auto names = document("// " + function + ": " + words + "\nfunction " + function +
                                    " { return 1 }\n");
        if (names.size() != 1)
            return render_all(diagnostics);
        EXPECT_EQ(names[0].summary, names[0].text);
        return names[0].text;
    };
    EXPECT_EQ(first("f(n)", "the number n."), "The number n.");
    EXPECT_EQ(first("f(n)", "n as a number."), "n as a number.");
    EXPECT_EQ(first("f(n)", "n, as a number."), "n, as a number.");
    EXPECT_EQ(first("f(m, n)", "n: a number."), "n: a number.");
    EXPECT_EQ(first("f(a)", "a number."), "A number.");
    EXPECT_EQ(first("f(n)", "well-known."), "well-known.");
    EXPECT_EQ(first("f(n)", "well-known names."), "Well-known names.");
    EXPECT_EQ(first("f(n)", "don't do this."), "Don't do this.");
    EXPECT_EQ(first("f(n)", "some_name is its name."), "some_name is its name.");
    EXPECT_EQ(first("f(n)", "x86 only."), "x86 only.");
}

// However many functions there are, only a chain of calls has an end.
TEST_F(OwnLibrary, EachOfManyCallsHasItsType) {
    std::string text = "probe own.first = begin {", expected;
    for (int i = 0; i < 150; i++) {
        const std::string own = std::to_string(i);
        text =
            "function f" + own + "() { return \"\" }\n" + text + " v" + own + " = f" + own + "()";
        expected += (i ? " v" : "v") + own + ":string";
    }
    const auto names = document(text + " }\n");
    const auto first = std::ranges::find(names, "own.first", &Documentation::name);
    ASSERT_NE(first, names.end());
    EXPECT_EQ(variables(*first), expected);
}

// The longest name that is an alias; a shorter one is its beginning.
TEST_F(OwnLibrary, ASuffixOfAnAliasIsNoOtherAlias) {
    const auto names = document("probe own.a = begin { x = 1 }\n"
                                "probe own.a.b = begin { y = 1 }\n"
                                "probe own.c = own.a.b.return { z = 1 }\n"
                                "probe own.d = own.a.return { z = 1 }\n");
    ASSERT_EQ(names.size(), 4u);
    EXPECT_EQ(variables(names[2]), "y:long z:long");
    EXPECT_EQ(variables(names[3]), "x:long z:long");
}

// The first type that is known counts, wherever in a choice it is.
TEST_F(OwnLibrary, AVariableHasTheFirstTypeThatIsKnown) {
    const auto names = document("probe own.first = begin {\n"
                                "  a = unknown() a = \"x\" a = 1 b = 1 b = \"x\" b = unknown()\n"
                                "  c = 1 ? unknown() : 2 d = 1 ? \"x\" : unknown()\n"
                                "  e = 1 ? unknown() : unknown()\n"
                                "}\n");
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(variables(names[0]), "a:string b:long c:long d:string e:");
}

// * in the names of a comment stands for any characters, also for none.
TEST_F(OwnLibrary, ACommentMayDescribeNamesByAPattern) {
    const auto names = document("// own.a*: those.\n"
                                "probe own.a = begin { }\nprobe own.ab = begin { }\n"
                                "probe own.ba = begin { }\n// mine.*z: those.\n"
                                "probe mine.z = begin { }\n"
                                "probe mine.xz = begin { }\nprobe mine.zx = begin { }\n");
    std::string described;
    for (const Documentation& each : names)
        if (each.text == "those.")
            described += each.name + " ";
    EXPECT_EQ(described, "own.a own.ab mine.z mine.xz ");
}

TEST_F(OwnLibrary, AnAliasHasTheVariablesOfThoseThatItStandsFor) {
    const auto names =
        document("// own.base: the base.\n//   a: of the base\n//   b: as well\n"
                 "probe own.base = begin { a = 1 b = \"\" }\n"
                 "// own.next: more.\n//   c: its own\n//   b: another meaning\n"
                 "probe own.next = own.base, own.base.return ? { b = 2 c = a }\n"
                 "probe own.circle = own.circle { d = 1 }\n"
                 "// Aliases have no arguments.\n"
                 "probe own.other = own.base(1), own.base(\"x\").return { e = 1 }\n");
    ASSERT_EQ(names.size(), 4u);
    EXPECT_EQ(names[1].points, (Names{"own.base", "own.base.return?"}));
    EXPECT_EQ(variables(names[1]), "a:long b:long c:long");
    EXPECT_EQ(names[1].variables[0].text, "of the base");
    EXPECT_EQ(names[1].variables[1].text, "another meaning");
    EXPECT_EQ(variables(names[2]), "d:long");
    EXPECT_EQ(variables(names[3]), "e:long");
}

// Each name of a file tells what the file is about.
TEST_F(OwnLibrary, NamesHaveTheSubjectOfTheirFile) {
    const auto names = document("// All about files. And more.\n\n// own.a: one.\nprobe own.a = "
                                "begin { }\nfunction f() { return 1 }\nglobal g = 1\n",
                                "// About macros.\n\n@define m %( 1 %)\n");
    ASSERT_EQ(names.size(), 4u);
    for (const Documentation& each : names)
        EXPECT_EQ(each.subject, each.name == "@m" ? "About macros." : "All about files.")
            << each.name;
}

// Of all definitions of a name, with a suffix or not.
TEST_F(OwnLibrary, VariablesAreFoundByTheNameOfAnAlias) {
    document("probe own.a = begin { x = 1 }\nprobe own.a = end { y = \"\" }\n"
             "probe own.b = own.a { z = 1 }\n");
    AliasVariables variables(*library);
    const auto of = [&](const std::string& name) {
        std::string text;
        for (const AliasVariable& each : variables.of(name))
            text += each.name + " ";
        return text;
    };
    EXPECT_EQ(of("own.a"), "x y ");
    EXPECT_EQ(of("own.a.return"), "x y ");
    EXPECT_EQ(of("own.b"), "x y z ");
    EXPECT_EQ(of("own"), "");
    EXPECT_EQ(of("own.c"), "");
    EXPECT_EQ(of(""), "");
}

TEST_F(OwnLibrary, GlobalsAreShownAsWritten) {
    const auto names = document("// size, table: two globals.\n"
                                "global size = 3, table%[5]\nprivate global hidden\n");
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names[0].signatures, Names{"global size = 3"});
    EXPECT_EQ(names[0].text, "Two globals.");
    EXPECT_EQ(names[0].summary, "Two globals.");
    EXPECT_EQ(names[1].signatures, Names{"global table%[5]"});
}

TEST_F(OwnLibrary, CirclesAndChainsEnd) {
    std::string text = "probe own.a = own.a, own.b, own.a { x = f0() }\n"
                       "probe own.b = own.a, own.b, own.b { y = \"\" }\n"
                       "function loop(n) { return loop(n) }\nprobe own.c = own.* { z = loop(1) }\n";
    constexpr int length = 300;
    for (int i = 0; i < length; i++) {
        const std::string own = std::to_string(i), next = std::to_string(i + 1);
        text += "function f" + own + "() { return f" + next + "() }\n";
        text += "probe own.d" + own + " = own.d" + next + " { v" + own + " = 1 }\n";
    }
    const auto names = document(text + "function f300() { return 1 }\n");
    const auto a = std::ranges::find(names, "own.a", &Documentation::name);
    ASSERT_NE(a, names.end());
    EXPECT_EQ(a->variables.size(), 2u);
    const auto d = std::ranges::find(names, "own.d299", &Documentation::name);
    ASSERT_NE(d, names.end());
    EXPECT_EQ(variables(*d), "v299:long");
}

TEST_F(OwnLibrary, EachDefinitionOfAnAliasHasItsOwnComment) {
    const auto names =
        document("// own.a: the first.\n//   x: one\nprobe own.a = begin { x = 1 }\n\n"
                 "// own.a: the second.\n//   x: two\nprobe own.a = end { x = 1 }\n");
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names[0].text, "The first.");
    EXPECT_EQ(names[0].variables[0].text, "one");
    EXPECT_EQ(names[1].text, "The second.");
    EXPECT_EQ(names[1].variables[0].text, "two");
}

TEST_F(OwnLibrary, OverloadsAreDocumentedTogether) {
    const auto names =
        document("// f(n): n as it is.\n//   n: a number\nfunction f:long(n:long) { return n }\n"
                 "// f(n, s): with text.\nfunction f:long(n:long, s:string) { return n }\n",
                 "// @m(a): a macro.\n@define m(a) %( @a %)\n");
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names[0].signatures, (Names{"f:long (n:long)", "f:long (n:long, s:string)"}));
    EXPECT_EQ(names[0].text, "f(n): n as it is.\n\nf(n, s): with text.");
    EXPECT_EQ(names[0].summary, "n as it is.");
    EXPECT_EQ(variables(names[0]), "n:long");
    EXPECT_EQ(names[1].name, "@m");
    EXPECT_EQ(names[1].signatures, Names{"@m(a)"});
    EXPECT_EQ(names[1].text, "A macro.");
    EXPECT_EQ(names[1].line, 2u);
}

} // namespace
} // namespace djstap
