// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/place.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

void expect_place(std::string_view text, Completes what, std::string_view typed,
                  std::string_view before = "") {
    const CompletionPlace place = completion_place(text);
    EXPECT_EQ(place.what, what) << text;
    if (what != Completes::Nothing) {
        EXPECT_EQ(place.typed, typed) << text;
        EXPECT_EQ(place.before, before) << text;
    }
}

TEST(CompletionPlace, WordsOfAFile) {
    expect_place("", Completes::Declaration, "");
    expect_place("pro", Completes::Declaration, "pro");
    expect_place("global n\npr", Completes::Declaration, "pr");
    expect_place("probe begin { } fun", Completes::Declaration, "fun");
    expect_place("global n", Completes::Nothing, "");
    expect_place("global n, ", Completes::Nothing, "");
    expect_place("function twice:long (n:lo", Completes::Nothing, "");
    expect_place("private fun", Completes::Declaration, "fun");
    expect_place("} } fun", Completes::Declaration, "fun"); // braces that close nothing
}

TEST(CompletionPlace, ComponentsOfAPoint) {
    expect_place("probe ", Completes::Component, "");
    expect_place("probe ker", Completes::Component, "ker");
    expect_place("probe kernel.", Completes::Component, "", "kernel.");
    expect_place("probe kernel.fun", Completes::Component, "fun", "kernel.");
    expect_place("probe begin, kernel.fun", Completes::Component, "fun", "kernel.");
    expect_place("probe mine = kernel.fun", Completes::Component, "fun", "kernel.");
    expect_place(R"(probe kernel.function("a, b = { }").re)", Completes::Component, "re",
                 R"(kernel.function("a, b = { }").)");
    expect_place("probe timer.ms(1", Completes::Nothing, "");
    expect_place("probe timer.ms(10).r", Completes::Component, "r", "timer.ms(10).");
    expect_place(R"(probe kernel.function("x") )", Completes::Nothing, "");
    expect_place("probe begin { } probe e", Completes::Component, "e");
}

TEST(CompletionPlace, ArgumentsOfComponents) {
    expect_place("probe kernel.function(\"vfs_", Completes::Argument, "vfs_", "kernel.function(");
    expect_place("probe kernel.function(\"", Completes::Argument, "", "kernel.function(");
    expect_place("probe kernel.function(\"vfs_read@fs/re", Completes::Argument, "vfs_read@fs/re",
                 "kernel.function(");
    expect_place("probe module(\"ext4\").function(\"ext4_", Completes::Argument, "ext4_",
                 "module(\"ext4\").function(");
    expect_place("probe begin,\n  kernel.trace(\"sched", Completes::Argument, "sched",
                 "kernel.trace(");
}

TEST(CompletionPlace, NamesOfAHandler) {
    expect_place("probe begin { pri", Completes::Name, "pri", "begin ");
    expect_place("probe begin { if (x) { } exec", Completes::Name, "exec", "begin ");
    expect_place("} probe begin { exec", Completes::Name, "exec", "begin ");
    expect_place("probe begin { @cou", Completes::Name, "@cou", "begin ");
    expect_place("function f(a) { ret", Completes::Name, "ret");
    expect_place(R"(probe kernel.function("vfs_read") { println($fi)", Completes::Target, "$fi",
                 R"(kernel.function("vfs_read") )");
    expect_place(R"(probe begin, kernel.function("x") { $)", Completes::Target, "$",
                 R"(kernel.function("x") )");
    expect_place("probe begin { printf(\"exec", Completes::Nothing, "");
    expect_place("probe begin { x = 12", Completes::Nothing, "");
    expect_place("probe begin { $file->f_", Completes::Nothing, "");
    expect_place("probe begin { $file->", Completes::Nothing, "");
    expect_place("probe begin { // exec", Completes::Nothing, "");
    expect_place("probe begin { # exec", Completes::Nothing, "");
    expect_place("probe begin { /* exec", Completes::Nothing, "");
    expect_place("%{ exec", Completes::Nothing, "");
    expect_place("probe begin { /* x */ exec", Completes::Name, "exec", "begin ");
    expect_place("probe begin { \"\\\"\" exec", Completes::Name, "exec", "begin ");
}

// What has ended says nothing of the text behind it.
TEST(CompletionPlace, GoesOnBehindWhatHasEnded) {
    for (const char* text : {"// probe\nfun", "# probe\nfun", "/* probe */ fun", "%{ probe %} fun",
                             "function f() { if (x) { } } fun", "probe begin { f(a } fun"})
        expect_place(text, Completes::Declaration, "fun");
    // A string ends with its line.
    expect_place("probe begin { x = \"a\nexec", Completes::Name, "exec", "begin ");
    expect_place("probe begin { x = \"a\\\\\" exec", Completes::Name, "exec", "begin ");
    // Words of a handler are no declarations.
    expect_place("probe begin { probe = global x", Completes::Name, "x", "begin ");
    expect_place("probe begin { function f", Completes::Name, "f", "begin ");
    // A comma between parentheses begins no point.
    expect_place("probe x.y(1, 2).r", Completes::Component, "r", "x.y(1, 2).");
    expect_place("probe x.y(1, ", Completes::Nothing, "");
    // The handler of a function has no point.
    expect_place("probe begin { } function f() { exec", Completes::Name, "exec");
}

TEST(CompletionPlace, TellsWhatTheScriptDeclares) {
    const CompletionPlace place = completion_place(
        "global hits, most = 3\nprivate function twice:long(n:long) { return n * 2 }\n"
        "function private_one() { }\nprobe begin { ");
    EXPECT_EQ(place.declared, (std::vector<std::string>{"hits", "most", "twice", "private_one"}));
    // Neither keys, nor parameters, nor what a handler or a point names.
    EXPECT_EQ(completion_place("global a[3], b%\nfunction f(x, y) { global z }\nprobe p.q, "
                               "global.r { function g }\nprobe ")
                  .declared,
              (std::vector<std::string>{"a", "b", "f"}));
    EXPECT_EQ(completion_place("global typed").declared, std::vector<std::string>());
}

TEST(CompletionPlace, AnythingIsScanned) {
    const std::string text = "probe kernel.function(\"a\\\"b\"), x = y { if (\"}\") { } $a } "
                             "function f:string(a, b) %{ } %} global a[3], b /* { */ # \"\n}}))((";
    for (size_t length = 0; length <= text.size(); length++)
        for (size_t begin = 0; begin <= length; begin++)
            completion_place(std::string_view(text).substr(begin, length - begin));
}

} // namespace
} // namespace djstap
