// SPDX-License-Identifier: GPL-2.0-or-later
// The progress bar of djstap regions, on a terminal and elsewhere.
#include "driver/progress_bar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

using djstap::driver::ProgressBar;

namespace {

std::string available(int file) {
    fcntl(file, F_SETFL, O_NONBLOCK);
    char text[4096];
    const ssize_t size = read(file, text, sizeof text);
    return size < 0 ? std::string() : std::string(text, static_cast<size_t>(size));
}

} // namespace

TEST(ProgressBar, OnATerminal) {
    int leader = -1, follower = -1;
    ASSERT_EQ(openpty(&leader, &follower, nullptr, nullptr, nullptr), 0);
    {
        ProgressBar bar(follower, "Analyzing", 0);
        bar.show(0.5);
        EXPECT_EQ(available(leader),
                  "\rAnalyzing [" + std::string(15, '#') + std::string(15, ' ') + "] 50 %");
        bar.show(0.5); // nothing new
        bar.show(0.4);
        EXPECT_EQ(available(leader), "");
        bar.show(2);
        EXPECT_EQ(available(leader), "\rAnalyzing [" + std::string(30, '#') + "] 100 %");
    }
    EXPECT_EQ(available(leader), "\r\33[K");
    {
        ProgressBar bar(follower, "Analyzing", 0);
        bar.show(0);
        EXPECT_EQ(available(leader), "\rAnalyzing [" + std::string(30, ' ') + "] 0 %");
    }
    EXPECT_EQ(available(leader), "\r\33[K") << "nothing is left of it, either";
    {
        ProgressBar bar(follower, "Analyzing", 0);
    }
    EXPECT_EQ(available(leader), "") << "it was never shown";
    {
        constexpr double hour = 3600 * 1000;
        ProgressBar quick(follower, "Analyzing", hour);
        quick.show(0.5);
    }
    EXPECT_EQ(available(leader), "");
    close(leader);
    close(follower);
}

TEST(ProgressBar, Elsewhere) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        ProgressBar bar(ends[1], "Analyzing", 0);
        bar.show(0.5);
    }
    EXPECT_EQ(available(ends[0]), "");
    close(ends[0]);
    close(ends[1]);
}
