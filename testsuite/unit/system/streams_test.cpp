// SPDX-License-Identifier: GPL-2.0-or-later
// Where reading ends, and how writing waits.
#include "system/file.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
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

} // namespace
} // namespace djstap
