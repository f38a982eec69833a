// SPDX-License-Identifier: GPL-2.0-or-later
// Where reading ends, how writing waits, and what a stopwatch tells.
#include "system/file.h"
#include "system/process.h"
#include "system/stopwatch.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace djstap {
namespace {

// A call that succeeds leaves errno as it was.
TEST(ReadingStreams, EndsWhereTheyEndWhateverHasFailedBefore) {
    const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const FileDescriptor empty(memfd_create("empty", MFD_CLOEXEC));
    char bytes[8] = {};
    std::string text;
    for (const FileDescriptor* each : {&nothing, &empty}) {
        errno = EINTR;
        EXPECT_EQ(read_some(each->get(), bytes, sizeof bytes), 0);
        errno = EINTR;
        EXPECT_TRUE(read_rest(each->get(), text));
    }
    errno = EINTR;
    EXPECT_TRUE(read_from_start(empty.get(), text));
    EXPECT_EQ(text, "");
    EXPECT_EQ(read_some(-1, bytes, sizeof bytes), -1);
    EXPECT_EQ(errno, EBADF);
}

char state_of_thread(pid_t thread) {
    const auto stat = read_file("/proc/self/task/" + std::to_string(thread) + "/stat");
    return stat ? (*stat)[stat->rfind(')') + 2] : '?';
}

// Another process may have made it non-blocking. Whoever asks again and again would take a CPU.
TEST(WritingStreams, SleepsWhileThereIsNoRoom) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor reader(ends[0]), writer(ends[1]);
    ASSERT_EQ(fcntl(writer.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string block(4096, 'x');
    size_t filled = 0;
    for (ssize_t count; (count = write(writer.get(), block.data(), block.size())) > 0;)
        filled += static_cast<size_t>(count);
    ASSERT_EQ(errno, EAGAIN);
    const pid_t thread = gettid();
    bool has_slept = false;
    std::string text;
    std::thread other([&] {
        for (int i = 0; i < 5000 && !has_slept; i++) {
            has_slept = state_of_thread(thread) == 'S';
            if (!has_slept)
                usleep(1000);
        }
        char bytes[4096];
        while (text.size() < filled + 3) {
            const ssize_t count = read(reader.get(), bytes, sizeof bytes);
            if (count <= 0)
                break;
            text.append(bytes, static_cast<size_t>(count));
        }
    });
    EXPECT_TRUE(write_all(writer.get(), "end"));
    other.join();
    EXPECT_TRUE(has_slept);
    EXPECT_EQ(text, std::string(filled, 'x') + "end");
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
