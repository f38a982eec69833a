// SPDX-License-Identifier: GPL-2.0-or-later
// How much hosts may say, how many are called at once, and which djrun they use.
#include "fan_out_fixture.h"
#include "hosts/agent.h"

namespace djstap::hosts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HostLimits : public FanOutTest {
  protected:
    // A host that sends these bytes once it has been started, and is gone then. Returns why it has
    // failed.
    std::string after(const std::string& bytes) {
        record("web1");
        hosts_.write("web1.running", bytes);
        hosts_.write("web1.stopped", "");
        hosts_.write("web1.ends", "");
        // So are the shells that would tell of the end.
        hosts_.write("web1.djrun", "trap 'kill -9 $OUTER $PPID' EXIT\n");
        open("web1");
        load();
        go();
        fan_out_->wait_for(Stage::Ended);
        const std::string why = failure(0);
        fan_out_.reset(); // the killed shell leaves its folder
        return why;
    }
    // What it has said last may follow.
    static std::string begins(const std::string& why, const std::string& expected) {
        return why.substr(0, expected.size());
    }
    const std::string broke_off_ = "the connection broke off in the middle of a snapshot";
    const std::string not_a_snapshot_ = "it sent something that is not a snapshot";
};

// Of protobuf's numbers: 2^28, which is 256 MiB, and one more.
TEST_F(HostLimits, AFrameHas256MiBAtMost) {
    EXPECT_EQ(begins(after("\x80\x80\x80\x80\x01x"), broke_off_), broke_off_);
    EXPECT_EQ(after("\x81\x80\x80\x80\x01x"), not_a_snapshot_);
    EXPECT_EQ(after(std::string(10, '\xff') + "x"), not_a_snapshot_) << "no number";
    EXPECT_EQ(begins(after("\x80"), broke_off_), broke_off_) << "the beginning of a number";
}

TEST_F(HostLimits, TheLineOfItsEndIsShort) {
    const auto end = [](size_t bytes) { return std::string(1, '\0') + std::string(bytes, 'x'); };
    EXPECT_EQ(begins(after(end((64 << 10) - 1)), broke_off_), broke_off_);
    EXPECT_EQ(after(end(64 << 10)), not_a_snapshot_);
    EXPECT_EQ(after(std::string("\0exit x\n", 8)), not_a_snapshot_);
    const std::string failed = "djrun ended with exit status 7";
    EXPECT_EQ(begins(after(std::string("\0exit 7\n", 8)), failed), failed);
}

// Before it answers, it may print 256 KiB, as a login does.
TEST_F(HostLimits, ItsDialogueIsBounded) {
    const std::string silent = "it does not answer for 1 seconds",
                      other = "it does not answer djstap's commands";
    for (const size_t bytes : {256 << 10, (256 << 10) + 1}) {
        hosts_.write("greeting", std::string(bytes, 'x'));
        hosts_.write("web1.login", "cat $PLAYED/greeting; exec sleep 1000");
        open("web1", bytes == 256 << 10 ? seconds(1) : seconds(60));
        fan_out_->call();
        EXPECT_EQ(failure(0), bytes == 256 << 10 ? silent : other);
        fan_out_.reset();
    }
}

// So is what djrun prints before it tells what its script shows.
TEST_F(HostLimits, WhatPrecedesTheDescriptionIsBounded) {
    constexpr size_t most = 256 << 10;
    const size_t around =
        FakeHosts::bytes_of({PrintedFrame{1, std::string(most, 'x')}}).size() - most;
    for (const size_t bytes : {most, most + 1}) {
        const PrintedFrame printed{1, std::string(bytes - around, 'x')};
        ASSERT_EQ(FakeHosts::bytes_of({printed}).size(), bytes);
        hosts_.record("web1", {printed, DescriptionFrame{}}, {}, {EndFrame{}});
        open("web1");
        load();
        EXPECT_EQ(failure(0), bytes == most ? "" : "it does not say what its script shows");
        EXPECT_EQ(fan_out_->host(0).stage(), bytes == most ? Stage::Loaded : Stage::Ended);
        finish();
        fan_out_.reset();
        hosts_.wait_until_nothing_is_left();
    }
}

// Each connection costs something, and it is the machine's own that pays for all of them.
TEST_F(HostLimits, SomeAreCalledAtOnce) {
    for (int i = 1; i <= 6; i++)
        hosts_.write("web" + std::to_string(i) + ".login", "exec sleep 1000");
    int asked = 0;
    FanOut some(*parse_node_set("web[1-6]"), FanOutOptions{hosts_.shell(), seconds(60), 4},
                FanOut::Events{[](size_t, SnapshotFrame) {}, [](size_t, const std::string&) {},
                               [](size_t) { return true; }, [&] { return ++asked >= 3; }});
    some.call();
    for (size_t i = 0; i < some.size(); i++)
        EXPECT_EQ(some.host(i).stage(), i < 4 ? Stage::Connecting : Stage::Waiting) << i;
    EXPECT_TRUE(some.is_anyone_before(Stage::Connecting));
    some.host(0).give_up("enough");
    some.call(); // nothing is waited for, and nobody called
    EXPECT_EQ(some.host(4).stage(), Stage::Waiting);
    EXPECT_TRUE(some.host(0).failure());
    some.host(0).give_up("once more");
    EXPECT_EQ(*some.host(0).failure(), "enough");
}

// What is not read yet stays with the host.
TEST_F(HostLimits, AHostWaitsUntilThereIsRoom) {
    record("web1");
    record("web2");
    bool has_room = true;
    std::vector<std::string> frames(2);
    FanOut both(*parse_node_set("web[1-2]"), FanOutOptions{hosts_.shell(), seconds(60), 4},
                FanOut::Events{[&](size_t host, SnapshotFrame frame) {
                                   frames[host] += "DGPME"[frame.index()];
                               },
                               [](size_t, const std::string&) {},
                               [&](size_t host) { return host == 1 || has_room; },
                               [] { return false; }});
    both.call();
    for (size_t i = 0; i < 2; i++)
        both.host(i).push(shared_file("m"), nullptr, FanOut::Clock::now());
    both.wait_for(Stage::Ready);
    for (size_t i = 0; i < 2; i++)
        both.host(i).load("host=" + both.host(i).node().name, FanOut::Clock::now());
    both.wait_for(Stage::Loaded);
    has_room = false;
    for (size_t i = 0; i < 2; i++)
        both.host(i).go(FanOut::Clock::now());
    const auto before = FanOut::Clock::now();
    while (frames[1].size() < 3)
        both.serve(milliseconds(10));
    EXPECT_EQ(frames[0], "D");
    EXPECT_EQ(frames[1], "DPG");
    EXPECT_GT(both.host(0).heard(), before) << "its silence is not its fault";
    has_room = true;
    while (frames[0].size() < 3)
        both.serve(milliseconds(10));
    EXPECT_EQ(frames[0], "DPG");
    both.stop();
    has_room = false;
    const auto stopped = FanOut::Clock::now();
    both.serve(milliseconds(1));
    EXPECT_GT(both.host(0).heard(), stopped) << "nor is it that it does not end";
    has_room = true;
    both.wait_for(Stage::Ended);
    EXPECT_EQ(frames[0], "DPGGE");
}

class DjrunOfHosts : public FanOutTest {
  protected:
    static std::string program(const std::string& says) {
        return "#!/bin/sh\ncat $PLAYED/web1.loaded; echo '" + says + "' >&2; exit 0\n";
    }
    std::string errors_with(const SharedFile* djrun) {
        FanOut& all = *fan_out_;
        all.host(0).push(shared_file("m"), djrun, FanOut::Clock::now());
        all.wait_for(Stage::Ready);
        EXPECT_EQ(all.host(0).stage(), Stage::Ready) << failure(0);
        all.host(0).load("host=web1", FanOut::Clock::now());
        all.wait_for(Stage::Ended);
        EXPECT_EQ(failure(0), "");
        return errors_;
    }
};

TEST_F(DjrunOfHosts, IsTheOneThatItIsSent) {
    record("web1");
    open("web1");
    fan_out_->call();
    const SharedFile pushed = shared_file(program("of the controller"));
    EXPECT_EQ(errors_with(&pushed), "of the controller\n");
}

TEST_F(DjrunOfHosts, IsTheOneThatItHas) {
    record("web1");
    const std::string found = program("of the host");
    hosts_.write("found", found);
    hosts_.write("web1.login", "unset DJSTAP_DJRUN; mkdir $PLAYED/bin; cp $PLAYED/found "
                               "$PLAYED/bin/djrun; chmod 700 $PLAYED/bin/djrun; "
                               "PATH=$PLAYED/bin:$PATH\n");
    open("web1");
    fan_out_->call();
    EXPECT_FALSE(fan_out_->host(0).facts().has_own_djrun);
    EXPECT_EQ(fan_out_->host(0).facts().djrun, cksum(found));
    EXPECT_EQ(errors_with(nullptr), "of the host\n");
}

// A host that counts as it likes: some print blanks before the number of bytes.
TEST_F(DjrunOfHosts, IsStoredAsAWhole) {
    for (const std::string counted : {"   1", "1", "2"}) {
        record("web1");
        hosts_.write("wc", "#!/bin/sh\necho '" + counted + "'\n");
        hosts_.write("web1.login", "mkdir -p $PLAYED/bin; cp $PLAYED/wc $PLAYED/bin/wc; "
                                   "chmod 700 $PLAYED/bin/wc; PATH=$PLAYED/bin:$PATH\n");
        open("web1");
        fan_out_->call();
        fan_out_->host(0).push(shared_file("m"), nullptr, FanOut::Clock::now());
        fan_out_->wait_for(Stage::Ready);
        EXPECT_EQ(failure(0), counted == "2" ? "it cannot store djstap's files" : "") << counted;
        EXPECT_EQ(fan_out_->host(0).stage(), counted == "2" ? Stage::Ended : Stage::Ready);
        fan_out_.reset();
        hosts_.wait_until_nothing_is_left();
    }
}

} // namespace
} // namespace djstap::hosts
