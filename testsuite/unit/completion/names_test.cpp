// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/names.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

const PointShapes& shapes() {
    static const PointShapes all({{"begin", 0},
                                  {"kernel.function(STRING)", 0},
                                  {"kernel.function(STRING).return", 0},
                                  {"kernel.function(STRING).return.maxactive(NUMBER)", 0},
                                  {"kernel.function(NUMBER)", 0},
                                  {"kernel.old(STRING)", PointIsNotSupported},
                                  {"timer.ms(NUMBER)", 0},
                                  {"timer.ms(NUMBER).randomize(NUMBER)", 0}});
    return all;
}

std::vector<std::string> components(const std::string& before, std::string_view typed) {
    std::vector<std::string> out;
    for (const auto& each : completed_components(
             before, typed, shapes(), {"vfs.read", "vfs.read.return", "vfs.write", "kernel_x"}))
        out.push_back(each.text);
    return out;
}

using Words = std::vector<std::string>;

TEST(CompletedNames, ComponentsOfFamiliesAndAliases) {
    EXPECT_EQ(components("", ""), (Words{"begin", "kernel", "kernel_x", "timer", "vfs"}));
    EXPECT_EQ(components("", "ker"), (Words{"kernel", "kernel_x"}));
    EXPECT_EQ(components("kernel.", ""), (Words{"function(\""}));
    EXPECT_EQ(components("kernel.function(\"a.b\").", "r"), (Words{"return"}));
    EXPECT_EQ(components("kernel.function(\"x\").return.", ""), (Words{"maxactive("}));
    EXPECT_EQ(components("timer.ms(10).", ""), (Words{"randomize("}));
    EXPECT_EQ(components("vfs.", "re"), (Words{"read"}));
    EXPECT_EQ(components("vfs.read.", ""), (Words{"return"}));
    EXPECT_EQ(components("nothing.", ""), Words{});
}

// How a point is written does not matter, only its shape.
TEST(CompletedNames, ComponentsBehindPointsOfAnyText) {
    EXPECT_EQ(components("kernel . function( \"x\" ) .", ""), (Words{"return"}));
    EXPECT_EQ(components("kernel.function(\"a\\\"b).c\").", ""), (Words{"return"}));
    EXPECT_EQ(components("kernel.function(0x1234).", ""), Words{});
    EXPECT_EQ(components("timer.ms(1).", "x"), Words{});
    // Of both forms of an argument, the name.
    EXPECT_EQ(components("kernel.", "function"), (Words{"function(\""}));
    EXPECT_EQ(components("timer.", ""), (Words{"ms("}));
}

// What they are is shown beside them.
TEST(CompletedNames, ComponentsAreDescribed) {
    const auto described = [](const std::string& before, const std::vector<std::string>& aliases) {
        std::string text;
        for (const auto& each : completed_components(before, "", shapes(), aliases))
            text += each.text + ":" + each.what + " ";
        return text;
    };
    const Words aliases{"vfs", "vfs.read", "__own", "__own.part", "vfs.__hidden", "net.a", "net.b"};
    EXPECT_EQ(described("", aliases), "begin:probe point kernel:probe point net:aliases "
                                      "timer:probe point vfs:alias ");
    EXPECT_EQ(described("vfs.", aliases), "read:alias ");
    EXPECT_EQ(described("__own.", aliases), "part:alias ");
}

TEST(CompletedNames, DeclarationsBeginAFile) {
    const auto texts = [](std::string_view typed) {
        Words words;
        for (const auto& each : completed_declarations(typed))
            words.push_back(each.text + each.what);
        return words;
    };
    EXPECT_EQ(texts(""), (Words{"function declaration", "global declaration", "private declaration",
                                "probe declaration"}));
    EXPECT_EQ(texts("pr"), (Words{"private declaration", "probe declaration"}));
    EXPECT_EQ(texts("probe "), Words{});
}

// A handler has neither declarations nor macros of its own.
TEST(CompletedNames, WordsOfAHandlerAreStatementsAndOperators) {
    const auto has = [](std::string_view typed, const std::string& wanted) {
        for (const auto& each : completed_words(typed, document_language({}), {}, {}))
            if (each.text == wanted)
                return true;
        return false;
    };
    EXPECT_TRUE(has("", "foreach"));
    EXPECT_TRUE(has("@", "@defined("));
    for (const char* word : {"function", "global", "private", "probe", "@define", "begin"})
        EXPECT_FALSE(has("", word)) << word;
    // A name that is declared and a function's are told once each, in their order.
    Words words;
    for (const auto& each :
         completed_words("zz", document_language({}), {"zzb", "zza", "zza"}, {"zzc", "zza", "zzc"}))
        words.push_back(each.text + "/" + each.what);
    EXPECT_EQ(words, (Words{"zza/of this script", "zza(/function", "zzb(/function",
                            "zzc/of this script"}));
}

TEST(CompletedNames, WordsOfAHandler) {
    Words words;
    for (const auto& each : completed_words("pr", document_language({}),
                                            {"probefunc", "__private", "execname"}, {"prices"}))
        words.push_back(each.text);
    EXPECT_EQ(words, (Words{"prices", "print(", "print_char(", "printd(", "printdln(", "printf(",
                            "println(", "probefunc("}));
    EXPECT_TRUE(completed_words("__", document_language({}), {"x"}, {}).empty());
    EXPECT_EQ(completed_words("__", document_language({}), {"__private"}, {}).size(), 1U);
    EXPECT_EQ(completed_words("@cou", document_language({}), {}, {})[0].text, "@count(");
}

TEST(CompletedNames, ArgumentsAreThoseOfTheLastComponent) {
    const char* function = "kernel.function(\"vfs_read@fs/read_write.c:450\").call";
    EXPECT_EQ(completed_argument(function, "kernel.function(", "vfs"), "vfs_read");
    EXPECT_EQ(completed_argument(function, "kernel.function(", "vfs_read@"),
              "vfs_read@fs/read_write.c:450");
    EXPECT_EQ(completed_argument("module(\"a.b\").function(\"f@x.c:1\")",
                                 "module(\"ext4\").function(", ""),
              "f");
    const char* traced = "kernel.trace(\"sched:sched_switch\")";
    EXPECT_EQ(completed_argument(traced, "kernel.trace(", "sched_sw"), "sched_switch");
    EXPECT_EQ(completed_argument(traced, "kernel.trace(", "sched"), "sched:sched_switch");
    EXPECT_EQ(completed_argument(traced, "kernel.trace(", "sched:"), "sched:sched_switch");
    // What was typed of the system's name goes on with it.
    EXPECT_EQ(completed_argument("kernel.trace(\"block:block_rq\")", "kernel.trace(", "block"),
              "block:block_rq");
    EXPECT_EQ(completed_argument("kernel.mark(\"a:b\")", "kernel.mark(", "b"), "a:b");
    EXPECT_EQ(completed_argument("process(\"/a.b\").library(\"c\").function(\"d\")",
                                 "process(\"/x\").library(", ""),
              "c");
    EXPECT_EQ(completed_argument("timer.ms(1)", "timer.ms(", ""), "");
    EXPECT_EQ(completed_argument("", "kernel.function(", ""), "");
}

} // namespace
} // namespace djstap
