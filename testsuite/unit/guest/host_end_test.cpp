// SPDX-License-Identifier: GPL-2.0-or-later
// The host's ends of what a guest and QEMU say, without either of them.
#include "guest/channel.h"
#include "guest/files.h"
#include "guest/input.h"
#include "guest/protocol.h"
#include "guest/qmp.h"
#include "support.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/socket.h>

namespace djstap {
namespace {

using guest::Channel;
using guest::Frame;
using guest::Qmp;

// Both ends of a socket.
struct Ends {
    Ends() {
        int pair[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ours = FileDescriptor(pair[0]);
        theirs = FileDescriptor(pair[1]);
    }
    void say(const std::string& bytes) const {
        EXPECT_EQ(write(theirs.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
    }
    // What has come to the other end.
    std::string heard() const {
        std::string all(1 << 20, '\0');
        const ssize_t count = recv(theirs.get(), all.data(), all.size(), MSG_DONTWAIT);
        all.resize(count > 0 ? static_cast<size_t>(count) : 0);
        return all;
    }
    FileDescriptor ours, theirs;
};

std::string frame(char type, const std::string& data) {
    const auto size = static_cast<uint32_t>(data.size());
    return std::string(1, type) + std::string(3, '\0') +
           std::string(reinterpret_cast<const char*>(&size), sizeof size) + data;
}

TEST(Channel, SendsFramesWithTheirLength) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    channel.queue('C', "abc");
    channel.queue('C', "");
    channel.queue_number('S', 0x01020304);
    EXPECT_EQ(channel.queued(), 8u + 3 + 8 + 8 + 4);
    EXPECT_EQ(ends.heard(), "");
    EXPECT_TRUE(channel.flush());
    EXPECT_EQ(channel.queued(), 0u);
    EXPECT_EQ(ends.heard(), frame('C', "abc") + frame('C', "") + frame('S', "\4\3\2\1"));
}

TEST(Channel, YieldsWholeFramesOnly) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    const std::string all = frame('1', "first") + frame('d', "") + frame('2', "second");
    std::vector<std::string> seen;
    for (char byte : all) {
        ends.say(std::string(1, byte));
        EXPECT_TRUE(channel.fill());
        while (auto next = channel.next())
            seen.push_back(next->type + next->data);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"1first", "d", "2second"}));
}

TEST(Channel, KeepsWhatTheSocketDoesNotTake) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    const std::string large(4 << 20, 'x');
    channel.queue('A', large);
    EXPECT_TRUE(channel.flush());
    EXPECT_GT(channel.queued(), 0u);
    std::string all;
    while (channel.queued()) {
        all += ends.heard();
        EXPECT_TRUE(channel.flush());
    }
    for (std::string more; !(more = ends.heard()).empty();)
        all += more;
    EXPECT_TRUE(all == frame('A', large));
}

TEST(Channel, NoticesThatTheOtherEndIsGone) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    EXPECT_TRUE(channel.fill()) << "nothing is there yet";
    ends.say(frame('d', "last"));
    ends.theirs.reset();
    EXPECT_FALSE(channel.fill());
    const auto last = channel.next();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->data, "last");
    channel.queue('P', "");
    EXPECT_FALSE(channel.flush());
}

TEST(Mailbox, KeepsSignalsInTheirOrder) {
    SignalMailbox mailbox;
    errno = EDOM;
    mailbox.post(SIGTERM);
    mailbox.post(SIGINT);
    EXPECT_EQ(errno, EDOM);
    char bytes[3] = {};
    EXPECT_EQ(read(mailbox.descriptor(), bytes, sizeof bytes), 2);
    EXPECT_EQ(bytes[0], SIGTERM);
    EXPECT_EQ(bytes[1], SIGINT);
    EXPECT_EQ(read(mailbox.descriptor(), bytes, sizeof bytes), -1);
    for (int i = 0; i < 100'000; i++) // more than a pipe takes
        mailbox.post(SIGHUP);
}

// Input.

FileDescriptor file_with(const std::string& text) {
    FileDescriptor file(memfd_create("input", MFD_CLOEXEC));
    EXPECT_TRUE(write_all(file.get(), text));
    lseek(file.get(), 0, SEEK_SET);
    return file;
}

TEST(Input, PassesWhatIsThereAndThenItsEnd) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    const FileDescriptor file = file_with("text");
    guest::Input input(file.get());
    EXPECT_EQ(input.descriptor(), file.get());
    input.pass(channel);
    EXPECT_EQ(input.descriptor(), file.get());
    input.pass(channel);
    EXPECT_EQ(input.descriptor(), -1);
    channel.flush();
    EXPECT_EQ(ends.heard(), frame('I', "text") + frame('I', ""));
}

TEST(Input, NoneEndsAtOnce) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    guest::Input input(-1);
    input.pass(channel);
    channel.flush();
    EXPECT_EQ(ends.heard(), frame('I', ""));
    EXPECT_EQ(input.descriptor(), -1);
}

TEST(Input, WaitsWhereNothingIsThereYet) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    auto pipe = Pipe::open(O_NONBLOCK);
    ASSERT_TRUE(pipe);
    guest::Input input(pipe->reader.get());
    input.pass(channel);
    EXPECT_EQ(channel.queued(), 0u);
    EXPECT_EQ(input.descriptor(), pipe->reader.get());
}

TEST(Input, PassesNoMoreThanTheGuestHasRoomFor) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    const FileDescriptor file = file_with(std::string(100'000, 'x'));
    guest::Input input(file.get());
    while (input.descriptor() >= 0)
        input.pass(channel);
    EXPECT_EQ(channel.queued(), size_t{DJSTAP_GUEST_INPUT} + 4 * DJSTAP_GUEST_HEADER)
        << "pieces of 16 KB";
    input.taken(1);
    EXPECT_EQ(input.descriptor(), file.get());
    input.pass(channel);
    EXPECT_EQ(input.descriptor(), -1);
    EXPECT_EQ(channel.queued(), size_t{DJSTAP_GUEST_INPUT} + 1 + 5 * DJSTAP_GUEST_HEADER);
}

TEST(Input, GivesAFileBackWhatWasNotRead) {
    Ends ends;
    Channel channel(std::move(ends.ours));
    const FileDescriptor file = file_with("0123456789");
    guest::Input input(file.get());
    input.pass(channel);
    input.taken(4);
    input.give_back(0);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 4);
    lseek(file.get(), 10, SEEK_SET);
    input.give_back(3);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 1);
    input.taken(100);
    lseek(file.get(), 10, SEEK_SET);
    input.give_back(0);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 10);
}

// QEMU's monitor.

using Json = nlohmann::json;

class Monitor : public testing::Test {
  protected:
    static Qmp::Clock::time_point soon() { return Qmp::Clock::now() + std::chrono::seconds(20); }
    static Qmp::Clock::time_point past() { return Qmp::Clock::now() - std::chrono::seconds(1); }
    std::string failure(const std::string& answer) {
        ends.say(answer);
        const auto result = qmp.run("stop", Json::object(), soon());
        return result ? "none" : result.failure().message;
    }
    Ends ends;
    Qmp qmp{std::move(ends.ours)};
};

TEST_F(Monitor, IsGreetedAndAsksForCommands) {
    ends.say("{\"QMP\":{}}\n{\"return\":{}}\n");
    EXPECT_TRUE(qmp.open(soon()));
    EXPECT_EQ(Json::parse(ends.heard()),
              Json({{"execute", "qmp_capabilities"}, {"arguments", Json::object()}}));
}

TEST_F(Monitor, YieldsTheAnswerBehindEvents) {
    ends.say("{\"event\":\"STOP\"}\r\n{\"return\":{\"a\":1}}\n");
    const auto answer = qmp.run("query", {{"b", 2}}, soon());
    ASSERT_TRUE(answer);
    EXPECT_EQ(*answer, Json({{"a", 1}}));
    const std::string asked = ends.heard();
    EXPECT_EQ(asked.back(), '\n');
    EXPECT_EQ(Json::parse(asked), Json({{"execute", "query"}, {"arguments", {{"b", 2}}}}));
}

TEST_F(Monitor, PassesADescriptorAlong) {
    ends.say("{\"return\":{}}\n{\"return\":{}}\n");
    const FileDescriptor file = file_with("through a socket");
    ASSERT_TRUE(qmp.run("getfd", Json::object(), soon(), file.get()));
    const auto received = [&]() -> int {
        char bytes[1000];
        iovec data = {bytes, sizeof bytes};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr message = {};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        EXPECT_GT(recvmsg(ends.theirs.get(), &message, 0), 0);
        const cmsghdr* header = CMSG_FIRSTHDR(&message);
        int fd = -1;
        if (header)
            memcpy(&fd, CMSG_DATA(header), sizeof fd);
        return fd;
    };
    const FileDescriptor passed(received());
    ASSERT_TRUE(passed);
    EXPECT_EQ(guest::contents(passed.get()), "through a socket");
    ASSERT_TRUE(qmp.run("cont", Json::object(), soon()));
    EXPECT_EQ(received(), -1);
}

TEST_F(Monitor, FailsWithItsWords) {
    EXPECT_EQ(failure("{\"error\":{\"desc\":\"not now\"}}\n"), "QEMU rejected stop: not now");
    EXPECT_EQ(failure("{\"error\":{}}\n"), "QEMU rejected stop: no reason given");
}

TEST_F(Monitor, FailsWithWhatIsNoObject) {
    EXPECT_EQ(failure("nonsense\n"), "QEMU sent invalid JSON");
    EXPECT_EQ(failure("[]\n"), "QEMU sent invalid JSON");
    EXPECT_EQ(failure("{\"return\":{}}\n"), "none");
}

TEST_F(Monitor, FailsWhenItIsLate) {
    const auto late = qmp.run("stop", Json::object(), past());
    ASSERT_FALSE(late);
    EXPECT_EQ(late.failure().message, "QEMU did not answer in time");
}

TEST_F(Monitor, FailsWhenItEnds) {
    shutdown(ends.theirs.get(), SHUT_WR);
    const auto half = qmp.run("stop", Json::object(), soon());
    ASSERT_FALSE(half);
    EXPECT_EQ(half.failure().message, "QEMU ended unexpectedly");
    ends.theirs.reset();
    EXPECT_EQ(qmp.run("stop", Json::object(), soon()).failure().message, "QEMU ended unexpectedly");
    EXPECT_EQ(qmp.open(soon()).failure().message, "QEMU ended unexpectedly");
}

// Small files and tools.

TEST(GuestFiles, ContentsAreTheWholeWhateverThePosition) {
    const FileDescriptor file = file_with("all of it");
    lseek(file.get(), 5, SEEK_SET);
    EXPECT_EQ(guest::contents(file.get()), "all of it");
    EXPECT_EQ(guest::contents(-1), "");
}

TEST(GuestFiles, FailuresNameWhatToDoAboutAFullDisk) {
    for (int error : {ENOSPC, EDQUOT}) {
        errno = error;
        EXPECT_EQ(guest::system_failure("write", "/x").hint,
                  "free some space, or set DJSTAP_CACHE to a folder with more of it");
    }
    errno = EIO;
    EXPECT_EQ(guest::system_failure("write", "/x").message, "cannot write /x: Input/output error");
    EXPECT_EQ(guest::system_failure("write", "/x").hint, "");
}

TEST(GuestFiles, WritingThatFailsNamesTheFile) {
    const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(guest::write_to(full.get(), "x", "/a/b").failure().message,
              "cannot write /a/b: No space left on device");
}

TEST(GuestFiles, ToolsNameTheirPackage) {
    TestFolder folder;
    make_file(folder.path + "/tool", "#!/bin/sh\n", true);
    Environment path("PATH", folder.path);
    EXPECT_EQ(*guest::find_tool("tool", "x"), folder.path + "/tool");
    const auto missing = guest::find_tool("no-such-tool", "a-package");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message, "missing no-such-tool, which a guest needs");
    EXPECT_EQ(missing.failure().hint, "install the package a-package");
}

TEST(GuestFiles, OutputOfAProgramThatFailsIsItsFailure) {
    EXPECT_EQ(*guest::output_of({"echo", "said"}), "said\n");
    const auto failed = guest::output_of({"sh", "-c", "echo why >&2; exit 3"});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.failure().message, "sh failed with status 3: why\n");
}

// What is told to DJSTAP_REPORT.

TEST(Report, HasALineOfEachGuestAndStatus) {
    TestFolder folder;
    const std::string path = folder.path + "/report";
    const Environment report("DJSTAP_REPORT", path);
    GuestJob job;
    job.kernel.release = "6.1";
    GuestOutcome outcome;
    outcome.state = GuestOutcome::Exited;
    outcome.exit_code = 3;
    report_guest(job, outcome);
    outcome.state = GuestOutcome::Lost;
    outcome.reason = "panic";
    outcome.complaint = "BUG";
    outcome.kernel_log = "log\n";
    report_guest(job, outcome);
    outcome.state = GuestOutcome::EmulatorDied;
    report_guest(job, outcome);
    report_guest(job, Failure{"no QEMU", ""});
    report_begin();
    report_status(4);
    std::ifstream file(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(Json::parse(line));
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[0], Json::parse(R"({"kernel":"6.1","end":"exited","reason":"","exit_code":3,
        "complaint":"","log":""})"));
    EXPECT_EQ(lines[1], Json::parse(R"({"kernel":"6.1","end":"lost","reason":"panic","exit_code":3,
        "complaint":"BUG","log":"log\n"})"));
    EXPECT_EQ(lines[2]["end"], "emulator-died");
    EXPECT_EQ(lines[3], Json::parse(R"({"kernel":"6.1","end":"not-started","reason":"no QEMU"})"));
    EXPECT_EQ(lines[4], Json::parse(R"({"begins":true})"));
    EXPECT_EQ(lines[5], Json::parse(R"({"status":4})"));
}

// What is refused before anything is started.

TEST(GuestJob, IsCheckedFirst) {
    TestFolder folder;
    const Environment path("PATH", folder.path); // where no QEMU is
    const Environment cache("DJSTAP_CACHE", folder.path + "/cache");
    GuestJob job;
    const auto failure = [&] { return run_guest(job, {}, nullptr).failure().message; };
    EXPECT_EQ(failure(), "no command to run in the guest");
    job.command = {"true"};
    job.kernel = {"6.1", folder.path + "/vmlinuz", folder.path};
    EXPECT_EQ(failure(),
              "cannot read the kernel " + folder.path + "/vmlinuz: No such file or directory");
    make_file(job.kernel.vmlinuz, "kernel");
    const std::string too_small = "a guest needs at least 128 MB of memory and one CPU";
    job.memory_mb = 127;
    EXPECT_EQ(failure(), too_small);
    job.memory_mb = 128;
    job.cpus = 0;
    EXPECT_EQ(failure(), too_small);
    job.cpus = 1;
    job.files = {{"/no/such/file", "/x", 0, ""}};
    EXPECT_EQ(failure(), "cannot open /no/such/file: No such file or directory");
    job.files.clear();
    EXPECT_EQ(failure(), "missing qemu-system-x86_64, which a guest needs");
}

} // namespace
} // namespace djstap
