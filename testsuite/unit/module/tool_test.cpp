// SPDX-License-Identifier: GPL-2.0-or-later
#include "common.h"

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
    setenv("MAKEFLAGS", "-n", 1);
    auto clean = run_tool({"sh", "-c", "echo \"<$MAKEFLAGS>\""});
    unsetenv("MAKEFLAGS");
    EXPECT_EQ(clean->output, "<>\n");
    // What it says is read, and must be in the language that is expected.
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    EXPECT_EQ(run_tool({"sh", "-c", "echo \"<$LC_ALL>\""})->output, "<C>\n");
    unsetenv("LC_ALL");
    std::vector<std::string> lines;
    ASSERT_TRUE(run_tool({"printf", "a\\nbc\\nd"},
                         [&](std::string_view line) { lines.emplace_back(line); }));
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "bc"}));
}
