// SPDX-License-Identifier: GPL-2.0-or-later
// What is typed, on its way to the probes of input.char and input.line.
#include "session/typed_input.h"

#include "fake_module.h"
#include "system/file.h"
#include "system/process.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

namespace djstap {
namespace {

const std::string input_file = "/proc/systemtap/demo/__stdin";

// This process with another standard input, and a module with a file that takes what is typed.
class TypedInputTest : public testing::Test {
  protected:
    void SetUp() override {
        auto pipe = Pipe::open();
        ASSERT_TRUE(pipe);
        typed_ = std::move(pipe->writer);
        before_ = FileDescriptor(dup(STDIN_FILENO));
        ASSERT_GE(dup2(pipe->reader.get(), STDIN_FILENO), 0);
        int ends[2]; // each write to the file is a message
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        taken_ = FileDescriptor(ends[0]);
        file_ = FileDescriptor(ends[1]);
        const timeval patience{10, 0};
        setsockopt(taken_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        meta_.name = "demo";
    }
    void TearDown() override { dup2(before_.get(), STDIN_FILENO); }
    void type(const std::string& text) const {
        EXPECT_EQ(write(typed_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    // The next message that the module gets.
    std::string taken() const {
        char bytes[16] = {};
        const ssize_t count = recv(taken_.get(), bytes, sizeof bytes, 0);
        return count < 0 ? "nothing" : std::string(bytes, static_cast<size_t>(count));
    }

    FakeModule module_;
    ModuleMeta meta_;
    FileDescriptor typed_, taken_, file_, before_;
};

// The module's probes run once for each write: each character is one.
TEST_F(TypedInputTest, IsPassedCharacterByCharacter) {
    module_.descriptors[input_file] = file_.get();
    {
        const TypedInput input(meta_);
        type("ab");
        EXPECT_EQ(taken(), "a");
        EXPECT_EQ(taken(), "b");
        type("\n");
        EXPECT_EQ(taken(), "\n");
    } // although nobody has ended the input
    file_.reset();
    EXPECT_EQ(taken(), ""); // nobody writes any more
    type("later");          // it belongs to whoever reads next
    char next[8] = {};
    EXPECT_EQ(::read(STDIN_FILENO, next, sizeof next), 5);
}

TEST_F(TypedInputTest, EndsWithTheInput) {
    module_.descriptors[input_file] = file_.get();
    const TypedInput input(meta_);
    type("a");
    typed_.reset();
    EXPECT_EQ(taken(), "a");
}

// A script without such probes has no file.
TEST_F(TypedInputTest, IsLeftAloneWithoutAFile) {
    module_.open_errors[input_file] = ENOENT;
    type("for others");
    {
        const TypedInput input(meta_);
    }
    char next[16] = {};
    EXPECT_EQ(::read(STDIN_FILENO, next, sizeof next), 10);
}

// On a terminal, in a process of its own whose terminal it may be.
class TypedOnATerminal : public TypedInputTest {
  protected:
    void SetUp() override {
        TypedInputTest::SetUp();
        module_.descriptors[input_file] = file_.get();
        typed_ = FileDescriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
        ASSERT_EQ(grantpt(typed_.get()), 0);
        ASSERT_EQ(unlockpt(typed_.get()), 0);
        terminal_ = FileDescriptor(open(ptsname(typed_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    }
    std::string told_by(bool is_its_own, const std::function<std::string()>& work) const {
        auto answer = Pipe::open();
        auto child = Process::fork([&] {
            setsid();
            dup2(terminal_.get(), STDIN_FILENO);
            if (is_its_own)
                ioctl(STDIN_FILENO, TIOCSCTTY, 0);
            const std::string told = work();
            const ssize_t sent = write(answer->writer.get(), told.data(), told.size());
            static_cast<void>(sent); // the test notices
        });
        answer->writer.reset();
        char bytes[200];
        std::string told;
        for (ssize_t got; (got = read_some(answer->reader.get(), bytes, sizeof bytes)) > 0;)
            told.append(bytes, static_cast<size_t>(got));
        child->wait();
        return told;
    }
    // How the terminal passes on what is typed.
    static std::string mode() {
        termios now{};
        tcgetattr(STDIN_FILENO, &now);
        return std::string(now.c_lflag & ICANON ? "by line" : "by key") +
               (now.c_lflag & ECHO ? ", shown" : "") + (now.c_lflag & ISIG ? "" : ", no signals");
    }
    FileDescriptor terminal_;
};

// Ctrl-C still ends the session, and the terminal is as before then.
TEST_F(TypedOnATerminal, IsPassedOnByKey) {
    type("a");
    EXPECT_EQ(told_by(true,
                      [this] {
                          std::string told = mode();
                          {
                              const TypedInput input(meta_);
                              told += "; " + mode();
                              type("b");
                              told += "; " + taken();
                              told += taken();
                          }
                          return told + "; " + mode();
                      }),
              "by line, shown; by key; ab; by line, shown");
}

// Whose process is in the background would be stopped if it read.
TEST_F(TypedOnATerminal, OfOthersIsLeftAlone) {
    EXPECT_EQ(told_by(false,
                      [this] {
                          const TypedInput input(meta_);
                          return mode();
                      }),
              "by line, shown");
}

TEST_F(TypedOnATerminal, WithoutAFileIsLeftAsItIs) {
    module_.descriptors.clear();
    module_.open_errors[input_file] = ENOENT;
    EXPECT_EQ(told_by(true,
                      [this] {
                          const TypedInput input(meta_);
                          return mode();
                      }),
              "by line, shown");
}

} // namespace
} // namespace djstap
