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
    EXPECT_EQ(completed_argument("timer.ms(1)", "timer.ms(", ""), "");
    EXPECT_EQ(completed_argument("", "kernel.function(", ""), "");
}

} // namespace
} // namespace djstap
