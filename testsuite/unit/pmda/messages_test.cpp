// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/messages.h"

#include <gtest/gtest.h>

namespace djstap::pmda {
namespace {

using Answer = LogAllowance::Answer;

TEST(Messages, AreOneLineWithoutControlCharacters) {
    EXPECT_EQ(one_line("plain, \u00fcber, %s"), "plain, \u00fcber, %s");
    EXPECT_EQ(one_line("red \x1b[31m\x07\r\x7f"), "red ?[31m???");
    EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a?b");
    EXPECT_EQ(one_line("red \u009b31m\ttab"), "red ?31m tab");
    EXPECT_EQ(one_line("first\n[Thu] pmdadjstap(1) Notice: forged\n\n"),
              "first [Thu] pmdadjstap(1) Notice: forged");
    EXPECT_EQ(one_line("\n"), "");
    EXPECT_EQ(one_line(""), "");
}

TEST(Messages, OfAScriptDoNotFillTheLog) {
    LogAllowance log;
    const Clock::time_point begin{std::chrono::hours(1)};
    for (int i = 1; i < LogAllowance::most; i++)
        EXPECT_EQ(log.ask("noisy", begin + std::chrono::seconds(i)), Answer::Yes) << i;
    const Clock::time_point then = begin + std::chrono::seconds(30);
    EXPECT_EQ(log.ask("noisy", then), Answer::Last);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(log.ask("noisy", then), Answer::No);
    EXPECT_EQ(log.ask("quiet", then), Answer::Yes);
    // Its period began with its first message.
    const Clock::time_point end = begin + std::chrono::seconds(1) + LogAllowance::period;
    EXPECT_EQ(log.ask("noisy", end - std::chrono::nanoseconds(1)), Answer::No);
    EXPECT_EQ(log.ask("noisy", end), Answer::Yes);
}

} // namespace
} // namespace djstap::pmda
