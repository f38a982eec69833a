// SPDX-License-Identifier: GPL-2.0-or-later
// What a stopwatch tells.
#include "system/stopwatch.h"

#include "system/file.h"
#include "system/process.h"

#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>

namespace djstap {
namespace {

TEST(StopwatchTime, LapsAddUp) {
    Stopwatch watch;
    poll(nullptr, 0, 5);
    const double first = watch.lap();
    poll(nullptr, 0, 5);
    const double second = watch.lap();
    EXPECT_GE(first, 4.9);
    EXPECT_GE(second, 4.9);
    EXPECT_GE(watch.milliseconds(), first + second);
    EXPECT_NE(watch.describe().find(" MB"), std::string::npos);
}

double ms_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}
struct UsedTime {
    double user = 0, system = 0;
};
UsedTime used_time() {
    UsedTime all;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        getrusage(who, &usage);
        all.user += ms_of(usage.ru_utime);
        all.system += ms_of(usage.ru_stime);
    }
    return all;
}
long peak_kilobytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}
struct DescribedTime {
    double wall = -1, user = -1, system = -1;
    long megabytes = -1;
};
DescribedTime described(const Stopwatch& watch) {
    DescribedTime told;
    const std::string text = watch.describe();
    EXPECT_EQ(sscanf(text.c_str(), "%lf ms (%lf user, %lf system), %ld MB", &told.wall, &told.user,
                     &told.system, &told.megabytes),
              4)
        << text;
    return told;
}

// What this process and its children have used in between, in whole milliseconds.
TEST(StopwatchTime, IsThatOfThisProcessAndItsChildren) {
    const UsedTime before = used_time();
    const Stopwatch watch;
    const UsedTime begun = used_time();
    ASSERT_TRUE(run_program({"sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"}));
    std::atomic<unsigned> number = 0;
    while (used_time().user - begun.user < 60)
        for (int i = 0; i < 100'000; i++)
            number++;
    while (used_time().system - begun.system < 30)
        for (int i = 0; i < 100; i++)
            (void)!read_file("/proc/self/status");
    const UsedTime inner = used_time();
    const DescribedTime told = described(watch);
    const UsedTime after = used_time();
    EXPECT_GE(told.user, inner.user - begun.user - 1);
    EXPECT_LE(told.user, after.user - before.user + 1);
    EXPECT_GE(told.system, inner.system - begun.system - 1);
    EXPECT_LE(told.system, after.system - before.system + 1);
    EXPECT_GT(told.wall, 0);
    EXPECT_LE(told.wall, watch.milliseconds() + 0.1);
}

// It grows page by page, so that it is a little more than a number of megabytes now and then.
TEST(StopwatchTime, HasThePeakOfMemory) {
    constexpr size_t page = 4096, pages = 2000;
    char* const memory = static_cast<char*>(
        mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    const Stopwatch watch;
    for (size_t i = 0; i < pages; i++) {
        memory[i * page] = 1;
        const long before = peak_kilobytes();
        const long told = described(watch).megabytes;
        const long after = peak_kilobytes();
        ASSERT_GE(told, before / 1024);
        ASSERT_LE(told, after / 1024);
    }
    munmap(memory, pages * page);
}

} // namespace
} // namespace djstap
