// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions and their standard input: what begins and ends them, and what scripts read.
#include "session_fixture.h"

#include <atomic>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>

namespace djstap {
namespace {

class SessionInput : public SessionTest {
  protected:
    void SetUp() override {
        SessionTest::SetUp();
        auto pipe = Pipe::open();
        ASSERT_TRUE(pipe);
        typed_ = std::move(pipe->writer);
        before_ = FileDescriptor(dup(STDIN_FILENO));
        ASSERT_GE(dup2(pipe->reader.get(), STDIN_FILENO), 0);
        options.start_on_input = true;
    }
    void TearDown() override {
        dup2(before_.get(), STDIN_FILENO);
        SessionTest::TearDown();
    }
    void type(const std::string& text) const {
        EXPECT_EQ(write(typed_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    static int unread() {
        int bytes = 0;
        EXPECT_EQ(ioctl(STDIN_FILENO, FIONREAD, &bytes), 0);
        return bytes;
    }
    FileDescriptor typed_, before_;
};

TEST_F(SessionInput, BeginsWithAByte) {
    type("x");
    exit_at_once();
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
    EXPECT_EQ(unread(), 0);
}

// Whoever would have begun it is gone.
TEST_F(SessionInput, DoesNotBeginWithoutAny) {
    typed_.reset();
    module.on_stop = [&] {
        module.write(0, 2, FakeModule::number(8));
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(module.calls, Words{"stop"});
    EXPECT_EQ(output, "n=8\n");
    EXPECT_EQ(messages, "");
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionInput, EndsWithItsEnd) {
    type("x");
    module.on_start = [&](const djs_start&) {
        typed_.reset();
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_FALSE(outcome.ended_by_signal);
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
}

// What comes before the end is read, and means nothing.
TEST_F(SessionInput, GoesOnUntilItsEnd) {
    type("x");
    std::atomic<bool> is_over = false;
    std::thread typing;
    module.on_start = [&](const djs_start&) {
        type("yz");
        typing = std::thread([&] {
            while (unread() && !is_over)
                std::this_thread::yield();
            typed_.reset();
        });
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(unread(), 0) << "it has ended too early";
    is_over = true;
    typing.join();
}

// A script with probes of input.char gets what is typed.
TEST_F(SessionInput, IsForScriptsThatTakeIt) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const FileDescriptor taken(ends[0]), file(ends[1]);
    module.descriptors["/proc/systemtap/demo/__stdin"] = file.get();
    options.start_on_input = false;
    type("ab");
    for (const bool takes : {false, true}) {
        module.files["/proc/djstap-demo"] =
            std::string(R"({"version":1,"name":"demo")") + (takes ? R"(,"takes_input":1})" : "}");
        module.page().exit_requested = takes ? 0 : 1;
        std::string text;
        std::thread reader([&] {
            char byte = 0;
            while (takes && text.size() < 2 && recv(taken.get(), &byte, 1, 0) == 1)
                text += byte;
            module.page().exit_requested = 1;
        });
        EXPECT_EQ(run().status, 0);
        reader.join();
        EXPECT_EQ(text, takes ? "ab" : "");
        EXPECT_EQ(unread(), takes ? 0 : 2);
    }
}

// The kernel lets a parameter have so many characters; its name may contain anything.
TEST_F(SessionTest, TellsTheModuleTheTimeZone) {
    exit_at_once();
    const auto told_of = [&](const std::string& zone) {
        time_zone.set(zone);
        run();
        const std::string all = module.loads.back();
        return all.substr(all.find("tz_gmtoff="));
    };
    const std::string longest(64, 'A');
    EXPECT_EQ(told_of(longest + "5:30"), "tz_gmtoff=19800 tz_name=" + longest);
    EXPECT_EQ(told_of(longest + "A5:30"), "tz_gmtoff=19800");
    EXPECT_EQ(told_of("<+03>-3"), "tz_gmtoff=-10800 tz_name=+03");
    EXPECT_EQ(told_of("<-02>2"), "tz_gmtoff=7200 tz_name=-02");
    EXPECT_EQ(told_of("UTC0"), "tz_gmtoff=0 tz_name=UTC");
}

} // namespace
} // namespace djstap
