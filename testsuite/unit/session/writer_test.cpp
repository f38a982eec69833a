// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of output whose reader takes its time, or nothing any more.
#include "session/output_request.h"
#include "session/signals.h"
#include "session/writer.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace djstap {
namespace {

// A reader of this process that takes nothing, behind a pipe that is full.
class StalledReader {
  public:
    StalledReader() {
        fcntl(pipe_->writer.get(), F_SETFL, O_NONBLOCK);
        while (::write(pipe_->writer.get(), "x", 1) == 1)
            ;
        fcntl(pipe_->writer.get(), F_SETFL, 0);
    }
    int fd() const { return pipe_->writer.get(); }
    void end() { pipe_->writer.reset(); }
    bool take(size_t bytes) {
        std::string text(bytes, ' ');
        return ::read(pipe_->reader.get(), text.data(), bytes) > 0;
    }

  private:
    std::optional<Pipe> pipe_ = Pipe::open();
};

TEST(Writers, DoNotWaitForAReaderAgainstTheUsersWill) {
    StalledReader reader;
    const StopSignals signals;
    raise(SIGINT);
    raise(SIGINT);
    Writer writer(reader.fd(), "the output");
    writer.append("lost");
    writer.flush();
    EXPECT_EQ(unwritable(writer.name(), writer.error()).message,
              "the output: its reader takes nothing");
}

TEST(Writers, SignalsInterruptTheWaitForAReader) {
    StalledReader reader;
    const StopSignals signals;
    const pthread_t here = pthread_self();
    std::thread user([here] {
        for (int i = 0; i < 2; i++) {
            usleep(50'000); // the writer may wait by now; if not, it finds the signal there
            pthread_kill(here, SIGTERM);
        }
    });
    Writer writer(reader.fd(), "the output");
    writer.append(std::string(1 << 20, 'y'));
    writer.flush();
    user.join();
    EXPECT_NE(writer.error(), 0);
    EXPECT_NE(writer.error(), EPIPE);
}

TEST(Writers, GiveAReaderThatTakesSomethingTheRest) {
    StalledReader reader;
    const StopSignals signals;
    raise(SIGINT);
    std::thread taking([&reader] {
        while (reader.take(1000))
            ;
    });
    {
        Writer writer(reader.fd(), "the output");
        writer.append(std::string(1 << 20, 'y'));
        writer.flush();
        EXPECT_EQ(writer.error(), 0);
    }
    reader.end();
    taking.join();
}

// The command of -c has the same standard output.
void expect_whole_lines(FileDescriptor reader, FileDescriptor shared) {
    const std::string own = "a line of the session", other = "a line of the command";
    constexpr size_t own_lines = 100'000, other_lines = 1000;
    std::thread session([&, fd = FileDescriptor(dup(shared.get()))] {
        Writer writer(fd.get(), "the output");
        for (size_t i = 0; i < own_lines; i++) { // in two parts, as some outputs do
            writer.append(own);
            writer.append("\n");
        }
        writer.flush();
        EXPECT_EQ(writer.error(), 0);
    });
    std::thread command([&, fd = std::move(shared)] {
        for (size_t i = 0; i < other_lines; i++)
            EXPECT_EQ(write_to_reader(fd.get(), other + "\n"), 0);
    });
    std::string all, taken(10'000, ' ');
    for (ssize_t size; (size = ::read(reader.get(), taken.data(), taken.size())) > 0;)
        all.append(taken, 0, static_cast<size_t>(size));
    session.join();
    command.join();
    size_t of_session = 0, of_command = 0;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
        of_session += line == own;
        of_command += line == other;
    }
    EXPECT_EQ(of_session, own_lines);
    EXPECT_EQ(of_command, other_lines);
}

TEST(Writers, AnotherWriterOfThePipeInterruptsNoLine) {
    auto pipe = Pipe::open();
    ASSERT_TRUE(pipe);
    expect_whole_lines(std::move(pipe->reader), std::move(pipe->writer));
}

TEST(Writers, AnotherWriterOfTheSocketInterruptsNoLine) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    expect_whole_lines(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

} // namespace
} // namespace djstap
