// SPDX-License-Identifier: GPL-2.0-or-later
// Signals that end a session, the commands of system(), and the bounds of histograms' buckets.
#include "session/histogram.h"
#include "session/outputs.h"
#include "session/signals.h"
#include "session/system_commands.h"
#include "system/descriptor.h"

#include "../surroundings.h"
#include "include/statistic.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {
namespace {

using Handler = void (*)(int);

Handler handler_of(int signal) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    return now.sa_handler;
}

void of_the_caller(int) {}

TEST(StopSignals, AreCountedAndGivenBack) {
    const Handler before = signal(SIGTERM, of_the_caller);
    const Handler pipe_before = signal(SIGPIPE, SIG_DFL);
    {
        const StopSignals signals;
        EXPECT_FALSE(StopSignals::stop_requested());
        EXPECT_EQ(StopSignals::requests(), 0);
        raise(SIGPIPE); // nothing
        EXPECT_FALSE(StopSignals::stop_requested());
        raise(SIGTERM);
        EXPECT_TRUE(StopSignals::stop_requested());
        raise(SIGINT);
        raise(SIGHUP);
        EXPECT_EQ(StopSignals::requests(), 3);
        StopSignals::request();
        EXPECT_EQ(StopSignals::requests(), 4);
    }
    EXPECT_EQ(handler_of(SIGTERM), of_the_caller);
    EXPECT_EQ(handler_of(SIGPIPE), SIG_DFL);
    {
        const StopSignals signals; // another session
        EXPECT_FALSE(StopSignals::stop_requested());
    }
    signal(SIGTERM, before);
    signal(SIGPIPE, pipe_before);
}

// nohup has a terminal that hangs up ignored, and it remains so.
TEST(StopSignals, WhatIsIgnoredByNohupStaysIgnored) {
    const Handler before = signal(SIGHUP, SIG_IGN);
    {
        const StopSignals signals;
        raise(SIGHUP);
        EXPECT_FALSE(StopSignals::stop_requested());
    }
    EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
    signal(SIGHUP, before);
}

TEST(StopSignals, ThatRequestAreThreeOfThem) {
    const sigset_t signals = StopSignals::requesting();
    for (const int each : {SIGINT, SIGTERM, SIGHUP})
        EXPECT_EQ(sigismember(&signals, each), 1) << each;
    for (const int each : {SIGPIPE, SIGCHLD, SIGQUIT})
        EXPECT_EQ(sigismember(&signals, each), 0) << each;
}

BucketBounds linear(int64_t low, int64_t width, uint32_t buckets, uint32_t bucket) {
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.low = low;
    header.width = width;
    header.buckets = buckets;
    return bounds_of(header, bucket);
}

void expect_bounds(const BucketBounds& bounds, std::optional<int64_t> least,
                   std::optional<int64_t> most) {
    EXPECT_EQ(bounds.least, least);
    EXPECT_EQ(bounds.most, most);
}

// include/statistic.h: bucket 64 holds 0, 64 + n holds 2^(n-1) to 2^n - 1, 64 - n their negatives.
TEST(BucketBounds, OfPowersOfTwo) {
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LOG;
    header.buckets = DJS_LOG_BUCKETS;
    const auto is = [&](uint32_t bucket, int64_t least, int64_t most) {
        SCOPED_TRACE(bucket);
        expect_bounds(bounds_of(header, bucket), least, most);
    };
    is(64, 0, 0);
    is(65, 1, 1);
    is(66, 2, 3);
    is(67, 4, 7);
    is(127, int64_t{1} << 62, INT64_MAX);
    is(63, -1, -1);
    is(62, -3, -2);
    is(1, -INT64_MAX, -(int64_t{1} << 62));
    is(0, INT64_MIN, INT64_MIN); // it has no positive counterpart
}

// Of the first and the last bucket, one side has no end.
TEST(BucketBounds, OfEqualWidths) {
    expect_bounds(linear(10, 5, 5, 0), std::nullopt, 9);
    expect_bounds(linear(10, 5, 5, 1), 10, 14);
    expect_bounds(linear(10, 5, 5, 3), 20, 24);
    expect_bounds(linear(10, 5, 5, 4), 25, std::nullopt);
    expect_bounds(linear(-1, 1, 4, 1), -1, -1);
    expect_bounds(linear(INT64_MIN, 4, 4, 0), std::nullopt, INT64_MIN);
    expect_bounds(linear(INT64_MIN, 4, 4, 1), INT64_MIN, INT64_MIN + 3);
}

TEST(HistogramRows, AreThoseBetweenTheFirstAndTheLast) {
    const auto rows = [](std::vector<int64_t> counts) {
        HistogramArgument histogram{};
        histogram.header.kind = DJS_HISTOGRAM_LINEAR;
        histogram.header.width = 1;
        histogram.header.buckets = static_cast<uint32_t>(counts.size());
        histogram.buckets = {reinterpret_cast<const char*>(counts.data()),
                             counts.size() * sizeof(int64_t)};
        std::vector<int64_t> found;
        for (const HistogramRow& row : rows_of(histogram))
            found.push_back(row.count);
        return found;
    };
    using Counts = std::vector<int64_t>;
    EXPECT_EQ(rows({0, 3, 0, 0, 4, 0}), (Counts{3, 0, 0, 4}));
    EXPECT_EQ(rows({1, 0, 0, 0, 0, 2}), (Counts{1, 0, 0, 0, 0, 2}));
    EXPECT_EQ(rows({0, 0, 5, 0}), Counts{5});
    EXPECT_EQ(rows({0, 0, 0, 0}), Counts());
}

// Commands of a script, and the output that precedes theirs.
class SystemCommandsTest : public testing::Test {
  protected:
    void SetUp() override {
        writer_ = std::make_unique<Writer>(
            open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), "the output");
        messages_ = std::make_unique<Writer>(STDERR_FILENO, "standard error");
        output_ = make_text_output({*writer_, *messages_});
    }
    std::string file() const { return folder_.file("out"); }
    std::string content() const {
        std::ifstream in(file());
        return {std::istreambuf_iterator<char>(in), {}};
    }

    FileDescriptor held_; // a command that is left ends when this is closed, the folder being gone
    const test::TestFolder folder_;
    std::unique_ptr<Writer> writer_, messages_;
    std::unique_ptr<Output> output_;
};

TEST_F(SystemCommandsTest, FollowWhatWasPrintedBefore) {
    SystemCommands commands;
    writer_->append("printed\n");
    commands.start("echo command >> " + file(), *output_);
    commands.wait();
    EXPECT_EQ(content(), "printed\ncommand\n");
}

// What they read is empty: the session's input is the script's. A word in front is no option of sh.
TEST_F(SystemCommandsTest, HaveNoInputAndNoOptions) {
    SystemCommands commands;
    commands.start("cat >> " + file() + "; echo read >> " + file(), *output_);
    commands.wait();
    EXPECT_EQ(content(), "read\n");
    commands.start("-none 2>/dev/null; echo went on >> " + file(), *output_);
    commands.wait();
    EXPECT_EQ(content(), "read\nwent on\n");
}

// Those that have ended are forgotten now and then, but never one that runs.
TEST_F(SystemCommandsTest, AreAllWaitedFor) {
    SystemCommands commands;
    commands.start("sleep 0.3; echo slow >> " + file(), *output_);
    for (int i = 0; i < 40; i++)
        commands.start(":", *output_);
    commands.wait();
    EXPECT_EQ(content(), "slow\n");
}

TEST_F(SystemCommandsTest, AreNotWaitedForOnceTheSessionIsToEnd) {
    const StopSignals signals;
    const std::string pipe = folder_.file("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    held_ = FileDescriptor(open(pipe.c_str(), O_RDWR | O_CLOEXEC));
    SystemCommands commands;
    // It holds nothing open that others wait for.
    commands.start("exec >/dev/null 2>&1; timeout 10 cat " + pipe + "; echo late >> " + file(),
                   *output_);
    StopSignals::request();
    commands.wait();
    EXPECT_EQ(content(), "");
}

} // namespace
} // namespace djstap
