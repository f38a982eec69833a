// SPDX-License-Identifier: GPL-2.0-or-later
// How outputs show what a name means.
#include "session/outputs.h"

#include "documentation/documentation.h"
#include "system/file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace djstap {
namespace {

std::string documented_as(const std::vector<Documentation>& names, bool brief, bool json = false) {
    const FileDescriptor out(memfd_create("out", MFD_CLOEXEC));
    Writer writer(out.get(), "out"), messages(-1, "nowhere");
    const OutputStreams streams{.writer = writer, .messages = messages};
    (json ? make_json_output(streams) : make_text_output(streams))->documented(names, brief);
    writer.flush();
    std::string all;
    read_from_start(out.get(), all);
    return all;
}

Documentation documentation_of(DocumentedKind kind, const std::string& name,
                               const std::string& summary = "") {
    Documentation one;
    one.kind = kind;
    one.name = name;
    one.summary = summary;
    return one;
}

// The text of a word of the language, without its last lines.
std::string wrapped_text(const std::string& text) {
    Documentation one = documentation_of(DocumentedKind::Operator, "x");
    one.text = text;
    const std::string all = documented_as({one}, false),
                      last = "\n\n  An operator of the language.\n";
    EXPECT_TRUE(all.starts_with("\n  ")) << all;
    EXPECT_TRUE(all.ends_with(last)) << all;
    return all.substr(3, all.size() - 3 - last.size());
}

TEST(Documented, BriefLinesHaveAColumnOfNames) {
    EXPECT_EQ(documented_as({documentation_of(DocumentedKind::Function, "f", "Adds."),
                             documentation_of(DocumentedKind::Alias, "vfs.read", "Reads."),
                             documentation_of(DocumentedKind::Macro, "@m", "")},
                            true),
              "f()       Adds.\n"
              "vfs.read  Reads.\n"
              "@m        \n");
    // A name of more than 32 characters is not waited for.
    const std::string long_name(32, 'n');
    EXPECT_EQ(documented_as({documentation_of(DocumentedKind::Alias, long_name, "a"),
                             documentation_of(DocumentedKind::Alias, long_name + "n", "b"),
                             documentation_of(DocumentedKind::Alias, "x", "c")},
                            true),
              long_name + "  a\n" + long_name + "n  b\nx" + std::string(31, ' ') + "  c\n");
    EXPECT_EQ(documented_as({documentation_of(DocumentedKind::Function, std::string(31, 'f'), "a"),
                             documentation_of(DocumentedKind::Alias, "x", "b")},
                            true),
              std::string(31, 'f') + "()  a\nx  b\n");
    EXPECT_EQ(documented_as({}, true), "");
}

TEST(Documented, EachNameHasItsDefinition) {
    Documentation function = documentation_of(DocumentedKind::Function, "f");
    function.signatures = {"function f:long (a:long)", "function f:string (a:string)"};
    function.variables = {{"a", "", "What it is"}, {"longer", "string", ""}};
    function.text = "Does it.";
    function.file = "/tapset/f.stp";
    function.line = 12;
    Documentation alias = documentation_of(DocumentedKind::Alias, "vfs.read");
    alias.signatures = {"probe vfs.read"};
    alias.points = {"kernel.function(\"vfs_read\")", "kernel.trace(\"x\")"};
    alias.file = "/tapset/vfs.stp";
    alias.line = 7;
    Documentation point = documentation_of(DocumentedKind::ProbePoint, "timer.s");
    point.points = {"timer.s(NUMBER)"};
    EXPECT_EQ(documented_as({function, alias, point}, false),
              "function f:long (a:long)\n"
              "function f:string (a:string)\n"
              "\n  Does it.\n"
              "\n"
              "  a              What it is\n"
              "  longer:string\n"
              "\n  /tapset/f.stp:12\n"
              "\n"
              "probe vfs.read\n"
              "    = kernel.function(\"vfs_read\")\n"
              "    = kernel.trace(\"x\")\n"
              "\n  /tapset/vfs.stp:7\n"
              "\n"
              "probe timer.s\n"
              "    timer.s(NUMBER)\n"
              "\n  A probe point of the language.\n");
}

TEST(Documented, WordsOfTheLanguageHaveTheirArticle) {
    const auto last = [](DocumentedKind kind) {
        return documented_as({documentation_of(kind, "x")}, false);
    };
    EXPECT_EQ(last(DocumentedKind::Operator), "\n  An operator of the language.\n");
    EXPECT_EQ(last(DocumentedKind::Alias), "\n  An alias of the language.\n");
    EXPECT_EQ(last(DocumentedKind::Statement), "\n  A statement of the language.\n");
    EXPECT_EQ(last(DocumentedKind::Function), "\n  A function of the language.\n");
    EXPECT_EQ(last(DocumentedKind::Macro), "\n  A macro of the language.\n");
    EXPECT_EQ(last(DocumentedKind::Global), "\n  A global of the language.\n");
}

// A line ends at the 96th column, two of which are blank.
TEST(Documented, TextsAreWrapped) {
    const std::string half(47, 'a');
    EXPECT_EQ(wrapped_text(half + " " + std::string(46, 'b')), half + " " + std::string(46, 'b'));
    EXPECT_EQ(wrapped_text(half + " " + std::string(47, 'b')),
              half + "\n  " + std::string(47, 'b'));
    EXPECT_EQ(wrapped_text(half + " " + std::string(46, 'b') + " c d"),
              half + " " + std::string(46, 'b') + "\n  c d");
    // A word that is longer has a line of its own.
    const std::string large(120, 'x');
    EXPECT_EQ(wrapped_text(large), large);
    EXPECT_EQ(wrapped_text("a " + large + " b"), "a\n  " + large + "\n  b");
    // Lines that the text has itself, and paragraphs; each begins anew.
    EXPECT_EQ(wrapped_text("one\ntwo"), "one\n  two");
    EXPECT_EQ(wrapped_text("one \n\ntwo\n"), "one\n\n  two");
    EXPECT_EQ(wrapped_text(half + "\n" + half + " " + std::string(46, 'b')),
              half + "\n  " + half + " " + std::string(46, 'b'));
}

// Four blanks begin a line of an example.
TEST(Documented, ExamplesStayAsTheyAre) {
    const std::string example = "    probe begin {  " + std::string(120, 'x') + " y }";
    EXPECT_EQ(wrapped_text("As in:\n\n" + example + "\nor so"),
              "As in:\n\n  " + example + "\n  or so");
    EXPECT_EQ(wrapped_text("a\n   " + std::string(94, 'x')), "a\n\n  " + std::string(94, 'x'))
        << "three blanks do not: words";
}

TEST(Documented, WhatVariablesAreIsWrappedBesideThem) {
    Documentation one = documentation_of(DocumentedKind::Alias, "x");
    one.variables = {{"name", "long", std::string(40, 'a') + " " + std::string(42, 'b')},
                     {"n", "long", std::string(40, 'a') + " " + std::string(43, 'b')},
                     {"unknown", "", ""}};
    EXPECT_EQ(documented_as({one}, false), "\n"
                                           "  name:long  " +
                                               std::string(40, 'a') + " " + std::string(42, 'b') +
                                               "\n"
                                               "  n:long     " +
                                               std::string(40, 'a') + "\n" + std::string(13, ' ') +
                                               std::string(43, 'b') +
                                               "\n"
                                               "  unknown\n"
                                               "\n  An alias of the language.\n");
}

TEST(Documented, JsonHasWhatIsKnown) {
    Documentation function = documentation_of(DocumentedKind::Function, "f", "Does \"it\".");
    function.signatures = {"function f()"};
    function.text = "Does \"it\".";
    function.variables = {{"a", "long", "What it is"}};
    function.file = "/tapset/f.stp";
    function.line = 12;
    function.subject = "things";
    Documentation point = documentation_of(DocumentedKind::ProbePoint, "timer.s", "Now.");
    point.points = {"timer.s(NUMBER)"};
    EXPECT_EQ(documented_as({function, documentation_of(DocumentedKind::Alias, "a", "All."), point},
                            false, true),
              R"x({"kind":"function","name":"f","signatures":["function f()"],)x"
              R"("summary":"Does \"it\".","text":"Does \"it\".",)"
              R"("variables":[{"name":"a","type":"long","text":"What it is"}],)"
              R"("file":"/tapset/f.stp","line":12,"subject":"things"})"
              "\n"
              R"({"kind":"alias","name":"a","summary":"All.","text":"","variables":[]})"
              "\n"
              R"({"kind":"probe point","name":"timer.s","summary":"Now.","text":"",)"
              R"x("points":["timer.s(NUMBER)"]})x"
              "\n");
}

} // namespace
} // namespace djstap
