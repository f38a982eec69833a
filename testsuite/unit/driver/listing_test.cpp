// SPDX-License-Identifier: GPL-2.0-or-later
// What -l, -L and the --dump options list of a library of the test's own, and what a shell offers.
#include "driver/listing.h"

#include "driver/complete.h"
#include "own_library.h"
#include "parsed_options.h"

#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

class Listings : public OwnLibrary {
  protected:
    // What is printed, then what is told: the message and the hint of each diagnostic.
    template <class List> static std::string listed(Words words, List list) {
        Invocation invocation(accept(std::move(words)));
        testing::internal::CaptureStdout();
        const auto done = list(invocation);
        EXPECT_TRUE(invocation.flush_output());
        std::string text = testing::internal::GetCapturedStdout();
        for (const Diagnostic& each : invocation.diagnostics.all())
            text += "! " + each.message + "\n" +
                    (each.hint_text.empty() ? "" : "? " + each.hint_text + "\n");
        return text + (done ? "" : "failed\n");
    }
    static std::string points(const std::string& pattern) {
        return listed({"-l", pattern}, list_points);
    }
    static std::string variables(const std::string& pattern) {
        return listed({"-L", pattern}, list_points);
    }
};

TEST_F(Listings, PointsAreSortedAndThereOnce) {
    tapset("probe own.second = begin {}\nprobe own.first = end {}\nprobe own.third = begin {}\n");
    tapset("probe own.first = begin {}\nprobe other = begin {}\n", "again.stp");
    EXPECT_EQ(points("own.*"), "own.first\nown.second\nown.third\n");
    EXPECT_EQ(points("own.first"), "own.first\n");
    EXPECT_EQ(points("o*"), "oneshot\nother\nown.first\nown.second\nown.third\n");
    EXPECT_EQ(points("own.*, other"), "own.first\nown.second\nown.third\nother\n");
    // Kinds of points and aliases together.
    tapset("probe been = begin {}\nprobe begun = begin {}\nprobe beat = begin {}\n");
    EXPECT_EQ(points("be*"), "beat\nbeen\nbegin\nbegin(NUMBER)\nbegun\n");
}

TEST_F(Listings, VariablesAreThoseOfTheirAliases) {
    tapset("probe own.first = begin { number = 5 name = \"x\" }\nprobe own.none = begin {}\n");
    EXPECT_EQ(variables("own.*"), "own.first number:long name:string\nown.none\n");
    EXPECT_EQ(points("own.first"), "own.first\n");
    // The mechanism of a point, and the reason, with -v or -L.
    const std::string point = "timer.ms(5)  # timer: ";
    EXPECT_EQ(points("timer.ms(5)"), "timer.ms(5)\n");
    EXPECT_TRUE(listed({"-v", "-l", "timer.ms(5)"}, list_points).starts_with(point));
    EXPECT_TRUE(variables("timer.ms(5)").starts_with(point)) << variables("timer.ms(5)");
}

// What follows an alias must be what some of its points may have behind them, through other
// aliases, of which ten may lead to each other.
TEST_F(Listings, ASuffixIsOneThatThePointsOfAnAliasHave) {
    tapset("probe own.f = kernel.function(\"vfs_read\") {}\n"
           "probe own.b = begin {}\n"
           "probe own.t = timer.ms(5) {}\n"
           "probe own.l = own.l {}\n"
           "probe own.m = own.n {}\nprobe own.n = own.m {}\n"
           "probe own.two = begin, own.f {}\n");
    EXPECT_EQ(points("own.f.return"), "own.f.return\n");
    EXPECT_EQ(points("own.*.return"), "own.f.return\nown.two.return\n");
    EXPECT_EQ(points("own.f.return.maxactive(5)"), "own.f.return.maxactive(5)\n");
    EXPECT_EQ(points("own.*.return.maxactive(5)"),
              "own.f.return.maxactive(5)\nown.two.return.maxactive(5)\n");
    EXPECT_EQ(points("own.*.randomize(2)"), "own.t.randomize(2)\n");
    // A * in a suffix stands for nothing, and an argument is none of an alias.
    EXPECT_NE(points("own.f.ret*"), "own.f.ret*\n");
    EXPECT_NE(points("own.f(5).return"), "own.f.return\n");
    EXPECT_EQ(points("own.f.retrun"),
              "! unknown probe point component 'retrun'\n? did you mean 'return'?\nfailed\n");
    EXPECT_EQ(points("own.b.return"), "! unknown probe point component 'return'\nfailed\n");
    EXPECT_EQ(points("own.m.return"), "! unknown probe point component 'return'\nfailed\n");
    std::string chain = "probe chain.a0 = kernel.function(\"vfs_read\") {}\n";
    for (int i = 1; i <= 12; i++)
        chain +=
            "probe chain.a" + std::to_string(i) + " = chain.a" + std::to_string(i - 1) + " {}\n";
    tapset(chain);
    EXPECT_EQ(points("chain.a9.return"), "chain.a9.return\n");
    EXPECT_NE(points("chain.a12.return"), "chain.a12.return\n");
}

TEST_F(Listings, NamesThatAreNearAreHints) {
    tapset("probe own.first = begin {}\nprobe own.second = begin {}\nprobe single = begin {}\n");
    EXPECT_EQ(points("own.frist"),
              "! unknown probe point 'own.frist'\n? did you mean 'own.first'?\nfailed\n");
    EXPECT_EQ(points("own.x*"), "! unknown probe point 'own.x*'\n? djstap -l 'own.**' "
                                "lists the aliases that begin with own\nfailed\n");
    EXPECT_EQ(points("singel"),
              "! unknown probe point 'singel'\n? did you mean 'single'?\nfailed\n");
}

// A library may add names to those of a family of probe points.
TEST_F(Listings, NamesInAFamilyAreHintsToo) {
    tapset("probe kernel.own.first = begin {}\nprobe kernel.own.second = begin {}\n");
    EXPECT_EQ(points("kernel.own.*"), "kernel.own.first\nkernel.own.second\n");
    EXPECT_EQ(points("kernel.own.frist"),
              "! unknown probe point component 'frist'\n? did you mean 'first'?\nfailed\n");
}

TEST_F(Listings, APatternIsOnePoint) {
    const std::string hint = "? -l and -L take a probe point: 'vfs.*', "
                             "'kernel.function(\"vfs_*\")', or '**' for all names\nfailed\n";
    for (const char* empty : {" ", "\t\n"})
        EXPECT_EQ(points(empty), "! this is not one probe point\n" + hint) << empty;
    for (const char* more :
         {"begin {} probe end", "begin {} global x probe end", "begin {} function f() {} probe end",
          "begin {} probe a = end", "begin {} global x //"})
        EXPECT_EQ(points(more), "! this is not one probe point\nfailed\n") << more;
}

TEST_F(Listings, TheDumpsAreTheLibrarys) {
    tapset(
        "function zz:long (a:long, b:string, c) { return 1 }\n"
        "function f() { return 1 }\nfunction f(x) { return 2 }\n"
        "function __own() { return 1 }\nprivate function p() { return 1 }\n"
        "function s:string () { return \"\" }\nprobe own.b = begin {}\nprobe own.a = begin {}\n");
    tapset("function f(y, z) { return 3 }\n", "second.stp");
    const auto functions = [](Invocation& invocation) { return print_functions(invocation); };
    const std::string all = listed({"--dump-functions"}, functions);
    EXPECT_EQ(all.substr(all.find("s:string")), "s:string ()\nzz:long (a:long, b:string, c)\n");
    for (const char* line : {"f ()\n", "f (x)\n", "f (y, z)\n"})
        EXPECT_NE(all.find(line), std::string::npos) << line;
    EXPECT_TRUE(all.starts_with("f (")) << "sorted, without those of files: " << all;
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 5);
    EXPECT_EQ(listed({"--dump-probe-aliases"}, print_aliases), "own.a\nown.b\n");
}

// What cannot be looked for is told once, and nothing is said of what was found.
TEST_F(Listings, PointsOfAKernelNeedOne) {
    const std::string text =
        listed({"--runtime=user", "-l", "kernel.function(\"vfs_read\")"}, list_points);
    EXPECT_TRUE(text.starts_with("! ")) << text;
    EXPECT_NE(text.find("requires a kernel"), std::string::npos) << text;
    EXPECT_EQ(text.find("\n! "), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("failed\n")) << text;
}

// Each line: the text so far with the name, the name, and a few words about it.
TEST_F(Listings, AShellIsOfferedWhatMayFollow) {
    tapset("probe own.first = begin { number = 5 name = \"x\" }\nprobe own.second = begin {}\n"
           "function own_function:long (x:long) { return x }\n");
    const auto offered = [](const std::string& text) {
        return listed({"--complete", text}, [](Invocation& invocation) {
            complete(invocation);
            return true;
        });
    };
    EXPECT_EQ(offered("probe own."), "probe own.first\tfirst\talias\n"
                                     "probe own.second\tsecond\talias\n");
    EXPECT_EQ(offered("probe own.first { nu"),
              "probe own.first { number\tnumber\tvariable of own.first\n");
    EXPECT_EQ(offered("probe own.first\n\t{ nu"), "\t{ number\tnumber\tvariable of own.first\n");
    EXPECT_EQ(offered("probe begin { own_"),
              "probe begin { own_function(\town_function(\tfunction\n");
    EXPECT_EQ(offered("probe own.first { \"na"), "");
    EXPECT_EQ(offered("global hits\npro"), "probe \tprobe \tdeclaration\n");
}

TEST_F(Listings, NobodyReadsMoreThan2000Names) {
    std::string many;
    for (int i = 0; i < 2001; i++)
        many += "probe own.a" + std::to_string(10'000 + i) + " = begin {}\n";
    tapset(many);
    const auto offered = [](const std::string& text) {
        Invocation invocation(accept({"--complete", text}));
        return completed_names(invocation, text);
    };
    EXPECT_EQ(offered("probe own.a").names.size(), 2000u);
    EXPECT_FALSE(offered("probe own.a").all);
    EXPECT_EQ(listed({"--complete", "probe own.a"},
                     [](Invocation& invocation) {
                         complete(invocation);
                         return true;
                     }),
              "");
    tapset(many.substr(many.find('\n') + 1));
    EXPECT_EQ(offered("probe own.a").names.size(), 2000u);
    EXPECT_TRUE(offered("probe own.a").all);
    EXPECT_EQ(offered("probe own.a").typed, 1u);
}

} // namespace
} // namespace djstap::driver
