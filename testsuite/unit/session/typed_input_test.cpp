// SPDX-License-Identifier: GPL-2.0-or-later
// What is typed, on its way to the probes of input.char and input.line.
#include "session/typed_input.h"

#include "fake_module.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
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

} // namespace
} // namespace djstap
