// SPDX-License-Identifier: GPL-2.0-or-later
// What make prints of its questions, and what surrounds it.
#include "module/option_tries.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace djstap::module {
namespace {

// Whether nothing but `known` was asked, and what else was printed.
std::pair<bool, std::string> asked(const std::vector<std::string>& known, std::string output) {
    OptionTries tries;
    tries.questions = known;
    const bool nothing_else = asked_nothing_else(tries, output);
    return {nothing_else, output};
}

TEST(AskedQuestions, AreKnownWithTheirAnswers) {
    const std::string one = "djs-try <cc -Werror -fone> djs <-fone> djs-end yes",
                      two = "djs-try <cc -Werror -ftwo> djs <> djs-end no";
    using Result = std::pair<bool, std::string>;
    EXPECT_EQ(asked({one, two}, ""), Result(true, ""));
    EXPECT_EQ(asked({one, two}, two + "\nmade\n" + one + "\n" + one + "\nall\n"),
              Result(true, "made\nall\n"));
    EXPECT_EQ(asked({one}, "made\n" + two + "\n"), Result(false, "made\n"));
    EXPECT_EQ(asked({}, one), Result(false, ""));
    EXPECT_EQ(asked({one}, one.substr(0, one.size() - 3) + "no\n"), Result(false, ""));
    EXPECT_EQ(asked({}, "a djs-try <x\nb"), Result(true, "a djs-try <x\nb\n"));
}

TEST(AskedQuestions, AreWholeLines) {
    for (const char* line : {"djs-try <x", "djs-try <x> djs <y", "djs-try <x> djs-end yes",
                             "djs-try <x> djs <y> djs-end", "djs-try <x> djs <y> djs-end maybe",
                             "djs-try <x> djs <y> djs-end yes ", "djs-try <x> djs-end yes> djs <y"})
        EXPECT_FALSE(asked({line}, std::string(line) + "\n").first) << line;
    for (const char* line :
         {"djs-try <> djs <> djs-end no", "djs-try <x> djs <y> djs-end> djs-end yes",
          "djs-try <x> djs <y> djs <z> djs-end yes"})
        EXPECT_TRUE(asked({line}, std::string(line) + "\n").first) << line;
}

} // namespace
} // namespace djstap::module
