// SPDX-License-Identifier: GPL-2.0-or-later
// Files, pipes and their errors, piece by piece.
#include "system/file.h"
#include "system/process.h"
#include "system/regular_file.h"
#include "system/streams.h"
#include "system/temporary.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace djstap {
namespace {

class Pieces : public testing::Test {
  protected:
    TemporaryFolder folder_ = std::move(*TemporaryFolder::create_in_memory());
};

TEST_F(Pieces, FilesOfEachSizeAreReadWhole) {
    const std::string path = folder_.file("file");
    for (const size_t size : {0, 1, 2, 511, 512, 513, 65535, 65536, 65537, 66048, 131073}) {
        std::string bytes(size, 'x');
        for (size_t i = 0; i < size; i++)
            bytes[i] = static_cast<char>(i * 31);
        ASSERT_TRUE(write_file(path, bytes));
        EXPECT_TRUE(*read_file(path) == bytes) << size;
        const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        std::string text;
        EXPECT_TRUE(read_from_start(file.get(), text));
        EXPECT_TRUE(text == bytes) << size;
        text = "before";
        EXPECT_TRUE(read_rest(file.get(), text));
        EXPECT_TRUE(text == "before" + bytes) << size;
    }
}

// What was interrupted before is of no interest: errno only counts behind an error.
TEST_F(Pieces, AnOldErrorIsNone) {
    const std::string path = folder_.file("file");
    ASSERT_TRUE(write_file(path, "x"));
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    errno = EINTR;
    EXPECT_TRUE(read_rest(file.get(), text));
    EXPECT_EQ(text, "x");
    text.clear();
    errno = EINTR;
    EXPECT_TRUE(read_from_start(file.get(), text));
    EXPECT_EQ(text, "x");
    errno = EINTR;
    EXPECT_TRUE(write_all(-1, ""));
}

// A pipe that gives one written piece after the other.
TEST_F(Pieces, WhatIsTooLongIsNoticedWhereverAPieceEnds) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_DIRECT | O_CLOEXEC), 0);
    const FileDescriptor reader(ends[0]);
    FileDescriptor writer(ends[1]);
    ASSERT_TRUE(write_all(writer.get(), std::string(10, 'a')));
    ASSERT_TRUE(write_all(writer.get(), std::string(5, 'b')));
    std::string text;
    EXPECT_TRUE(read_rest(reader.get(), text, 10));
    EXPECT_EQ(text, "aaaaaaaaaab");
    ASSERT_TRUE(write_all(writer.get(), std::string(10, 'c')));
    writer.reset();
    text.clear();
    EXPECT_TRUE(read_rest(reader.get(), text, 10));
    EXPECT_EQ(text, "cccccccccc");
}

std::atomic<int> signals;

// Calls `blocked` in a thread that is sent signals until several have come, then `go_on`.
template <class Blocked, class GoOn> void interrupt(const Blocked& blocked, const GoOn& go_on) {
    struct sigaction counted = {}, before = {};
    counted.sa_handler = [](int) { signals++; };
    ASSERT_EQ(sigaction(SIGUSR1, &counted, &before), 0);
    signals = 0;
    std::thread thread(blocked);
    while (signals < 5) {
        pthread_kill(thread.native_handle(), SIGUSR1);
        usleep(1000);
    }
    go_on();
    thread.join();
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(Pieces, SignalsDoNotEndReading) {
    auto pipe = Pipe::open();
    ASSERT_TRUE(pipe);
    std::string text;
    bool is_read = false;
    interrupt([&] { is_read = read_rest(pipe->reader.get(), text); },
              [&] {
                  EXPECT_TRUE(write_all(pipe->writer.get(), "whole"));
                  pipe->writer.reset();
              });
    EXPECT_TRUE(is_read);
    EXPECT_EQ(text, "whole");
}

TEST_F(Pieces, SignalsDoNotEndWriting) {
    const auto pipe = Pipe::open();
    ASSERT_TRUE(pipe);
    // Full: the next byte has to wait.
    const auto size = static_cast<size_t>(fcntl(pipe->writer.get(), F_GETPIPE_SZ));
    ASSERT_TRUE(write_all(pipe->writer.get(), std::string(size, 'x')));
    bool is_written = false;
    std::string all(size + 5, '\0');
    size_t count = 0;
    interrupt([&] { is_written = write_all(pipe->writer.get(), "whole"); },
              [&] {
                  while (count < all.size()) {
                      const ssize_t got =
                          read_some(pipe->reader.get(), all.data() + count, all.size() - count);
                      ASSERT_GT(got, 0);
                      count += static_cast<size_t>(got);
                  }
              });
    EXPECT_TRUE(is_written);
    EXPECT_EQ(all.substr(size), "whole");
}

// An ssh in the same pipeline makes what it shares with others non-blocking.
TEST_F(Pieces, AreWrittenToWhatIsNonBlocking) {
    auto pipe = Pipe::open(O_NONBLOCK);
    ASSERT_TRUE(pipe);
    const std::string much(1 << 20, 'x');
    size_t taken = 0;
    bool is_written = false;
    std::thread writing([&] {
        is_written = write_all(pipe->writer.get(), much);
        pipe->writer.reset();
    });
    for (bool ended = false; !ended;) {
        pollfd ready{pipe->reader.get(), POLLIN, 0};
        poll(&ready, 1, -1);
        char some[1000];
        const ssize_t got = read_some(pipe->reader.get(), some, sizeof some);
        taken += static_cast<size_t>(std::max<ssize_t>(got, 0));
        ended = got == 0;
    }
    writing.join();
    EXPECT_TRUE(is_written);
    EXPECT_EQ(taken, much.size());
}

// `djstap … 2>&-`
TEST(Streams, ThatAreClosedAreNoFilesThatAreOpenedLater) {
    auto child = Process::fork([] {
        for (const int fd : {0, 1, 2})
            close(fd);
        prepare_streams();
        const int next = open("/", O_RDONLY | O_CLOEXEC);
        _exit(next > 2 && write_all(1, "x") && write_all(2, "x") ? 0 : 1);
    });
    ASSERT_TRUE(child);
    EXPECT_EQ(exit_status(child->wait()), 0);
}

TEST_F(Pieces, ErrorsNameWhatCannotBeDone) {
    const std::string file = folder_.file("file"), below = file + "/below";
    ASSERT_TRUE(write_file(file, ""));
    EXPECT_EQ(write_file(below, "x").failure().message, below + ": cannot create: Not a directory");
    EXPECT_EQ(write_atomically(below + "/it", "x").failure().message,
              below + ": cannot create: Not a directory");
    const std::string inner = folder_.file("inner");
    ASSERT_EQ(mkdir(inner.c_str(), 0700), 0);
    EXPECT_EQ(write_atomically(inner, "x").failure().message,
              inner + ": cannot write: Is a directory");
    const std::string longest = folder_.file(std::string(255, 'x'));
    const std::string refused = write_atomically(longest, "x").failure().message;
    EXPECT_TRUE(refused.starts_with(longest + ".")) << refused;
    EXPECT_TRUE(refused.ends_with(": cannot create: File name too long")) << refused;
    // Nothing is left of what could not be written.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
    EXPECT_EQ(MappedFile::open(below).failure().message, below + ": cannot open: Not a directory");
}

// A terminal's other side is told that it was opened, once it is closed.
TEST_F(Pieces, NothingButRegularFilesIsOpened) {
    const FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    ASSERT_TRUE(terminal && grantpt(terminal.get()) == 0 && unlockpt(terminal.get()) == 0);
    char name[64];
    ASSERT_EQ(ptsname_r(terminal.get(), name, sizeof name), 0);
    const std::string path = folder_.file("link");
    std::filesystem::create_symlink(name, path);
    const auto was_opened = [&] {
        pollfd state{terminal.get(), POLLIN, 0};
        return poll(&state, 1, 0) >= 0 && (state.revents & POLLHUP) != 0;
    };
    EXPECT_EQ(open_regular(path).failure().message, path + ": is not a file");
    EXPECT_EQ(MappedFile::open(path).failure().message, path + ": is not a file");
    EXPECT_EQ(begin_of_regular(path, 4), "");
    EXPECT_FALSE(was_opened());
    EXPECT_EQ(open_regular(folder_.path()).failure().message, folder_.path() + ": is not a file");
    EXPECT_EQ(open_regular(path + "2").failure().message,
              path + "2: cannot open: No such file or directory");
    std::filesystem::remove(path);
    ASSERT_TRUE(write_file(folder_.file("text"), "12345"));
    std::filesystem::create_symlink("text", path);
    const auto file = open_regular(path);
    ASSERT_TRUE(file) << file.failure().message;
    EXPECT_EQ(*read_file(*file, path), "12345");
    for (const size_t most : {0, 1, 4, 5, 6})
        EXPECT_EQ(begin_of_regular(path, most), std::string("12345").substr(0, most));
}

TEST_F(Pieces, AMappedFileIsUnmapped) {
    const std::string path = folder_.file("mapped");
    ASSERT_TRUE(write_file(path, std::string(5000, 'x')));
    const auto is_mapped = [&] {
        return read_file("/proc/self/maps")->find(path) != std::string::npos;
    };
    {
        const auto mapped = MappedFile::open(path);
        ASSERT_TRUE(mapped);
        EXPECT_TRUE(is_mapped());
    }
    EXPECT_FALSE(is_mapped());
    // Larger than all memory that a process can have.
    if (truncate(path.c_str(), off_t{1} << 60) != 0)
        GTEST_SKIP() << "the file system has no files that are as large";
    EXPECT_EQ(MappedFile::open(path).failure().message,
              path + ": cannot map: Cannot allocate memory");
}

} // namespace
} // namespace djstap
