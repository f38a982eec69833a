// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/build_output.h"

#include <gtest/gtest.h>

namespace djstap::module {
namespace {

std::string errors(int count) {
    std::string text;
    for (int i = 1; i <= count; i++)
        text += "a.c:" + std::to_string(i) + ": error: no\n";
    return text;
}

std::string kept(int count) {
    std::string text;
    for (int i = 1; i <= count; i++)
        text += "\n  a.c:" + std::to_string(i) + ": error: no";
    return text;
}

TEST(BuildOutput, KeepsTheFirstDozenOfItsErrors) {
    EXPECT_EQ(relevant_lines(errors(12)), kept(12));
    EXPECT_EQ(relevant_lines("make[1]: *** [a.o] Error: 1\nfine\n" + errors(14)),
              kept(12) + "\n  … and 2 more");
}

TEST(BuildOutput, WithoutErrorsTheLastLinesAreKept) {
    EXPECT_EQ(relevant_lines(""), "");
    EXPECT_EQ(relevant_lines("1\n2\n\n3"), "\n  1\n  2\n  3");
    EXPECT_EQ(relevant_lines("1\n2\n3\n4\n5\n"), "\n  1\n  2\n  3\n  4\n  5");
    EXPECT_EQ(relevant_lines("1\n2\n3\n4\n5\n6\n"), "\n  2\n  3\n  4\n  5\n  6");
}

TEST(BuildOutput, HasWarningsButForOneOfTheKernels) {
    const std::string kernels = "ld: warning: x.o: unexpected non-allocatable section\n";
    EXPECT_FALSE(has_warnings(""));
    EXPECT_FALSE(has_warnings("fine\n" + kernels + "fine"));
    EXPECT_TRUE(has_warnings(kernels + "a.c:1: warning: unused"));
    EXPECT_TRUE(has_warnings("WARNING: modpost: x\nfine\n"));
    EXPECT_FALSE(has_warnings("warning\nno:warnings\n"));
}

TEST(BuildOutput, TheBuildsFolderIsLeftOut) {
    EXPECT_EQ(relevant_lines("/tmp/x/a.c: error: see /tmp/x/b.h\n", "/tmp/x"),
              "\n  a.c: error: see b.h");
    EXPECT_EQ(relevant_lines("/tmp/y/a.c: error: no\n", "/tmp/x"), "\n  /tmp/y/a.c: error: no");
}

} // namespace
} // namespace djstap::module
