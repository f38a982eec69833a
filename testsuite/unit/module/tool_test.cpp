// SPDX-License-Identifier: GPL-2.0-or-later
#include "common.h"

#include <list>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;

TEST(Tool, OutputStatusAndMissingPrograms) {
    auto outcome = run_tool({"sh", "-c", "echo out; echo err >&2; exit 3"});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->status, 3);
    EXPECT_EQ(outcome->output, "out\nerr\n");
    auto killed = run_tool({"sh", "-c", "kill -9 $$"});
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->status, 128 + 9);
    auto missing = run_tool({"no-such-program-here"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message,
              "cannot run no-such-program-here: No such file or directory");
    const Environment flags("MAKEFLAGS", "-n");
    auto clean = run_tool({"sh", "-c", "echo \"<$MAKEFLAGS>\""});
    EXPECT_EQ(clean->output, "<>\n");
    // What it says is read, and must be in the language that is expected.
    const Environment language("LC_ALL", "de_DE.UTF-8");
    EXPECT_EQ(run_tool({"sh", "-c", "echo \"<$LC_ALL>\""})->output, "<C>\n");
    std::vector<std::string> lines;
    ASSERT_TRUE(run_tool({"printf", "a\\nbc\\nd"},
                         [&](std::string_view line) { lines.emplace_back(line); }));
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "bc"}));
}

// What make, Kbuild and gcc read of the environment (Documentation/kbuild/kbuild.rst, the manuals
// of make and gcc), and what only looks like it.
TEST(Tool, HasNoVariablesThatSteerABuild) {
    const std::vector<std::string> steering{"MAKEFLAGS",
                                            "MAKELEVEL",
                                            "MFLAGS",
                                            "MAKEFILES",
                                            "GNUMAKEFLAGS",
                                            "MAKEOVERRIDES",
                                            "ARCH",
                                            "V",
                                            "W",
                                            "C",
                                            "O",
                                            "M",
                                            "MO",
                                            "CC",
                                            "LD",
                                            "LLVM",
                                            "CROSS_COMPILE",
                                            "CPATH",
                                            "KCFLAGS",
                                            "KCPPFLAGS",
                                            "KAFLAGS",
                                            "KBUILD_CFLAGS",
                                            "KBUILD_OUTPUT",
                                            "C_INCLUDE_PATH",
                                            "GCC_SPECS",
                                            "LANG",
                                            "LANGUAGE",
                                            "LC_MESSAGES",
                                            "INSTALL_MOD_PATH"};
    const std::vector<std::string> others{"ARCHIVE", "VV", "CCACHE_DIR", "KBUILD", "MAKE_X", "LCX"};
    std::list<Environment> set;
    for (const std::vector<std::string>& names : {steering, others})
        for (const std::string& name : names)
            set.emplace_back(name, "of-the-test");
    const auto outcome = run_tool({"env"});
    ASSERT_TRUE(outcome);
    const std::string output = "\n" + outcome->output;
    for (const std::string& name : steering)
        EXPECT_EQ(output.find("\n" + name + "=of-the-test\n"), std::string::npos) << name;
    for (const std::string& name : others)
        EXPECT_NE(output.find("\n" + name + "=of-the-test\n"), std::string::npos) << name;
}

TEST(Tool, GivesTheFirstMegabyte) {
    const auto outcome = run_tool({"sh", "-c", "head -c 1500000 /dev/zero | tr '\\0' x"});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->output, std::string(1'048'576, 'x'));
}

TEST(Tool, QuotesForTheShell) {
    for (const char* word :
         {"", "plain", "two words", "it's", "'", "''", "$HOME `id` \"x\" \\", "a\nb", "*", "#"}) {
        const auto outcome = run_tool({"sh", "-c", "printf %s " + quoted_for_shell(word)});
        ASSERT_TRUE(outcome);
        EXPECT_EQ(outcome->output, word);
    }
}

TEST(Tool, TheFirstErrorsAreADozenLines) {
    EXPECT_EQ(first_errors(""), "");
    EXPECT_EQ(first_errors("x.c:1:1: error: a"), "\n  x.c:1:1: error: a");
    EXPECT_EQ(first_errors("a\nb\n"), "\n  a\n  b");
    EXPECT_EQ(first_errors("x.c: In function 'f':\na\ncc1: all warnings being treated as "
                           "errors\nb cc1: b\n"),
              "\n  a\n  b cc1: b");
    std::string lines, first;
    for (int i = 1; i <= 20; i++) {
        lines += "x.c: In function 'f':\n" + std::to_string(i) + "\n";
        first += i <= 12 ? "\n  " + std::to_string(i) : "";
    }
    EXPECT_EQ(first_errors(lines), first);
}
