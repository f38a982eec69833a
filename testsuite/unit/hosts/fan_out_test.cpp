// SPDX-License-Identifier: GPL-2.0-or-later
#include "fan_out_fixture.h"

#include <algorithm>
#include <cerrno>

namespace djstap::hosts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of tests in which one host is given up: the others have to answer in time on a busy machine, too.
constexpr milliseconds patience = seconds(10);

TEST_F(FanOutTest, RunsOnAllHostsFromTheirFactsToTheirEnd) {
    for (int i = 1; i <= 9; i++)
        record("web" + std::to_string(i));
    open("web[1-9]");
    load();
    for (size_t i = 0; i < 9; i++) {
        const Connection& host = fan_out_->host(i);
        ASSERT_EQ(host.stage(), Stage::Loaded) << failure(i);
        EXPECT_FALSE(host.facts().release.empty());
        EXPECT_FALSE(host.facts().machine.empty());
        EXPECT_TRUE(host.facts().has_own_djrun);
        // The clock is the same one.
        EXPECT_LE(std::abs(host.clock().ns), host.clock().error_ns);
        EXPECT_EQ(frames_[host.node().name], "D"); // nothing runs before all are ready
    }
    EXPECT_EQ(hosts_.leftovers().size(), 9u);
    go();
    while (std::ranges::any_of(frames_, [](const auto& each) { return each.second.size() < 7; }))
        fan_out_->serve(milliseconds(10));
    finish();
    for (size_t i = 0; i < 9; i++) {
        EXPECT_EQ(failure(i), "");
        EXPECT_EQ(frames_[fan_out_->host(i).node().name], "DhelloGGE");
    }
    EXPECT_TRUE(hosts_.leftovers().empty());
}

TEST_F(FanOutTest, PushesFilesThatArriveUnchanged) {
    for (const char* host : {"web1", "web2"}) {
        record(host);
        hosts_.write(host + std::string(".djrun"),
                     "cp \"$3\" \"$PLAYED/" + std::string(host) + ".module\"\n");
    }
    // A host without gzip.
    hosts_.write("web2.login",
                 "mkdir -p $PLAYED/tools; for each in sh mktemp rm uname od tr cksum date head "
                 "chmod wc mkfifo cat cp kill sleep; do "
                 "ln -sf \"$(command -v $each)\" $PLAYED/tools/$each; done; "
                 "PATH=$PLAYED/tools\n");
    open("web[1-2]");
    load();
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(fan_out_->host(i).facts().unpacks, i == 0);
        EXPECT_EQ(*read_file(hosts_.file("web" + std::to_string(i + 1) + ".module")),
                  std::string(300'000, 'm'));
    }
    finish();
}

// What is packed is a fraction, and what cannot be packed is no more than a little longer.
TEST(Packed, IsShorter) {
    const SharedFile same = shared_file(std::string(300'000, 'm')), none = shared_file("");
    EXPECT_LT(same.packed->size(), 1000U);
    EXPECT_EQ(same.packed->substr(0, 2), "\x1f\x8b");
    EXPECT_LT(none.packed->size(), 50U);
}

TEST_F(FanOutTest, AHostThatEndsByItselfHasNotFailed) {
    record("web1");
    hosts_.write("web1.ends", "");
    open("web1");
    load();
    go();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(failure(0), "");
    EXPECT_EQ(frames_["web1"], "DhelloGGE");
    EXPECT_TRUE(hosts_.leftovers().empty());
}

// An error of before is none of its streams, which have ended both.
TEST_F(FanOutTest, AHostEndsWhateverHasFailedBefore) {
    record("web1");
    hosts_.write("web1.ends", "");
    FanOut& all = open("web1");
    load();
    go();
    const auto begun = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begun; };
    int looks = 0; // since its output has ended: each waits for what happens next
    while (all.host(0).stage() != Stage::Ended) {
        ASSERT_LT(passed(), std::chrono::minutes(1));
        looks += all.host(0).output_descriptor() < 0;
        errno = EAGAIN;
        all.serve(milliseconds(10));
    }
    EXPECT_LT(looks, 100 + passed() / milliseconds(5)) << "it does not wait";
    EXPECT_EQ(failure(0), "");
}

TEST_F(FanOutTest, NamesWhyAHostCannotBeReached) {
    record("web1");
    hosts_.write("web2.login", "echo 'ssh: connect to host web2: No route to host' >&2; exit 255");
    open("web[1-2]");
    load();
    EXPECT_EQ(fan_out_->host(0).stage(), Stage::Loaded);
    EXPECT_EQ(failure(1), "there is no connection: ssh: connect to host web2: No route to host");
    finish();
    EXPECT_EQ(failure(0), "");
}

TEST_F(FanOutTest, IgnoresWhatALoginPrints) {
    record("web1");
    hosts_.write("web1.login", "echo 'Welcome! release 4711'; echo facts");
    open("web1");
    load();
    EXPECT_EQ(fan_out_->host(0).stage(), Stage::Loaded) << failure(0);
    EXPECT_NE(fan_out_->host(0).facts().release, "4711");
    finish();
}

TEST_F(FanOutTest, GivesUpWhatAnswersSomethingElse) {
    record("web1");
    hosts_.write("web1.login", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done | tr -d '\\n'");
    open("web1");
    load();
    EXPECT_EQ(failure(0), "it does not answer djstap's commands");
}

TEST_F(FanOutTest, GivesUpAHostThatMakesNoProgress) {
    record("web1");
    record("web2");
    hosts_.write("web1.login", "exec sleep 1000");
    open("web[1-2]", patience);
    fan_out_->call();
    EXPECT_EQ(failure(0), "it does not answer for 10 seconds");
    EXPECT_EQ(fan_out_->host(1).stage(), Stage::Known) << failure(1);
    finish();
}

TEST_F(FanOutTest, NamesAHostThatDiesInTheMiddle) {
    record("web1");
    const std::string frame = FakeHosts::bytes_of({PrintedFrame{1, "cut"}});
    hosts_.write("web1.running", FakeHosts::bytes_of({GlobalsFrame{}}) + frame.substr(0, 5));
    hosts_.write("web1.stopped", "");
    hosts_.write("web1.ends", "");
    // So are the shells that would tell of the end.
    hosts_.write("web1.djrun", "trap 'kill -9 $OUTER $PPID' EXIT\n");
    open("web1");
    load();
    go();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(frames_["web1"], "DG");
    EXPECT_TRUE(failure(0).starts_with("the connection broke off in the middle of a snapshot"))
        << failure(0);
}

TEST_F(FanOutTest, NamesGarbage) {
    for (const std::string& garbage : {std::string(64, '\xff'), std::string("\x05hello world"),
                                       std::string("\0nonsense\n", 10)}) {
        record("web1");
        hosts_.write("web1.running", garbage);
        open("web1");
        load();
        go();
        fan_out_->wait_for(Stage::Ended);
        EXPECT_FALSE(failure(0).empty());
        fan_out_.reset();
        hosts_.wait_until_nothing_is_left();
    }
}

TEST_F(FanOutTest, AHostThatGoesOnTalkingHoldsNobodyUp) {
    record("web1");
    hosts_.write("web2.login", "exec yes 'Welcome to this host!'");
    open("web[1-2]");
    load();
    EXPECT_EQ(fan_out_->host(0).stage(), Stage::Loaded);
    EXPECT_EQ(failure(1), "it does not answer djstap's commands");
    finish();
}

TEST_F(FanOutTest, AHostThatPrintsBeforeItIsLoadedHoldsNobodyUp) {
    record("web1");
    record("web2");
    hosts_.write("printed", FakeHosts::bytes_of({PrintedFrame{1, std::string(1000, 'x')}}));
    hosts_.write("web2.djrun", "while cat '" + hosts_.file("printed") + "'; do :; done\n");
    open("web[1-2]");
    load();
    EXPECT_EQ(fan_out_->host(0).stage(), Stage::Loaded);
    EXPECT_EQ(failure(1), "it does not say what its script shows");
    finish();
}

// What a host still has to say when it was told to stop, and after its end, comes in time.
TEST_F(FanOutTest, AHostThatGoesOnAfterItsEndHoldsNobodyUp) {
    hosts_.write("printed", FakeHosts::bytes_of({PrintedFrame{1, "x"}}));
    for (const std::string end : {"", "printf '\\000exit 0\\n'; "}) {
        record("web1");
        record("web2");
        hosts_.write("web2.djrun", "cat \"$play.loaded\"; read -r line; " + end + "while cat '" +
                                       hosts_.file("printed") + "'; do sleep 0.05; done\n");
        open("web[1-2]", patience);
        load();
        EXPECT_EQ(fan_out_->host(1).stage(), Stage::Loaded);
        go();
        finish();
        EXPECT_EQ(failure(0), "");
        EXPECT_EQ(failure(1), "it does not end for 10 seconds");
        fan_out_.reset();
    }
}

TEST_F(FanOutTest, AHostThatDoesNotEndBeforeItIsStartedHoldsNobodyUp) {
    record("web1");
    record("web2");
    hosts_.write("web2.djrun", "cat \"$play.loaded\"; sleep 60; exit 0\n");
    open("web[1-2]", patience);
    load();
    EXPECT_EQ(fan_out_->host(1).stage(), Stage::Loaded);
    finish();
    EXPECT_EQ(failure(0), "");
    EXPECT_EQ(failure(1), "it does not end for 10 seconds");
}

TEST_F(FanOutTest, TellsWhatDjrunSaysWhenItFails) {
    record("web1");
    hosts_.write("web1.djrun", "echo 'djrun: this kernel does not fit' >&2; exit 1\n");
    open("web1");
    load();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(failure(0), "djrun ended with exit status 1: djrun: this kernel does not fit");
    EXPECT_EQ(errors_, "djrun: this kernel does not fit\n");
    EXPECT_TRUE(hosts_.leftovers().empty());
}

// Lines are told one by one, without what controls a terminal, and no longer than a message is.
TEST_F(FanOutTest, TellsTheLinesOfErrors) {
    record("web1");
    hosts_.write("web1.djrun", "printf 'one\\r\\n\\n\\033[31mtwo\\n%0600d\\n' 1 >&2; exit 0\n");
    open("web1");
    load();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(errors_, "one\n?[31mtwo\n" + std::string(500, '0') + "\n");
}

// What says very much at once is cut; the last line tells why it fails.
TEST_F(FanOutTest, TellsTwentyLinesOfErrorsAtOnce) {
    record("web1");
    std::string words, lines;
    for (int i = 1; i <= 25; i++) {
        words += " " + std::to_string(i);
        lines += i <= 20 ? std::to_string(i) + "\n" : "";
    }
    hosts_.write("web1.djrun", "printf '%s\\n'" + words + " >&2; exit 3\n");
    open("web1");
    load();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(errors_, lines);
    EXPECT_EQ(failure(0), "djrun ended with exit status 3: 25");
}

TEST_F(FanOutTest, NamesAnErrorWhoseLineDidNotEnd) {
    record("web1");
    hosts_.write("web1.djrun", "printf 'first\\nlast' >&2; exit 3\n");
    open("web1");
    load();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(failure(0), "djrun ended with exit status 3: last");
}

// What djrun's end is told by may come in pieces.
TEST_F(FanOutTest, WaitsForTheWholeEnd) {
    record("web1");
    hosts_.write("web1.djrun", "cat \"$play.loaded\"; printf '\\000ex'; sleep 0.3; "
                               "printf 'it 7'; sleep 0.3; printf '5\\n'; exit 0\n");
    open("web1");
    load();
    fan_out_->wait_for(Stage::Ended);
    EXPECT_EQ(failure(0), "djrun ended with exit status 75");
}

// What is being loaded has begun: its end is awaited.
TEST_F(FanOutTest, AHostThatIsStoppedWhileItLoadsHasNotFailed) {
    record("web1");
    hosts_.write("web1.djrun", "read -r line; cat \"$play.loaded\" \"$play.stopped\"; exit 0\n");
    FanOut& all = open("web1");
    all.call();
    all.host(0).push(shared_file("m"), nullptr, FanOut::Clock::now());
    all.wait_for(Stage::Ready);
    all.host(0).load("host=web1", FanOut::Clock::now());
    all.serve(milliseconds(10));
    EXPECT_EQ(all.host(0).stage(), Stage::Loading);
    finish();
    EXPECT_EQ(failure(0), "");
    EXPECT_EQ(frames_["web1"], "DGE");
    EXPECT_TRUE(hosts_.leftovers().empty());
}

// The clocks of hosts, as their date(1) shows them.
class ClocksOfHosts : public FanOutTest {
  protected:
    void date(const std::string& host, const std::string& commands) {
        hosts_.write(host + ".date", "#!/bin/sh\n" + commands + "\n");
        hosts_.write(host + ".login", "mkdir -p $PLAYED/$host.tools; "
                                      "cp $PLAYED/$host.date $PLAYED/$host.tools/date; "
                                      "chmod 700 $PLAYED/$host.tools/date; "
                                      "PATH=$PLAYED/$host.tools:$PATH\n");
    }
    static int64_t now_ns() {
        return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
};

TEST_F(ClocksOfHosts, AreComparedWithThisOne) {
    date("web1", "echo $(($(command -p date +%s%N) + 3600000000000))");
    date("web2", "echo $(($(command -p date +%s%N) - 3600000000000))");
    open("web[1-2]");
    fan_out_->call();
    for (const auto& [host, expected] :
         {std::pair{0, 3'600'000'000'000}, {1, -3'600'000'000'000}}) {
        const ClockOffset clock = fan_out_->host(host).clock();
        EXPECT_LE(std::abs(clock.ns - expected), clock.error_ns) << failure(host);
        EXPECT_GT(clock.error_ns, 0);
    }
}

TEST_F(ClocksOfHosts, MayShowOnlySeconds) {
    date("web1", "echo $(command -p date +%s)%N");
    date("web2", "echo $(command -p date +%s)N");
    open("web[1-2]");
    fan_out_->call();
    for (const size_t host : {0, 1}) {
        const ClockOffset clock = fan_out_->host(host).clock();
        EXPECT_EQ(fan_out_->host(host).stage(), Stage::Known) << failure(host);
        EXPECT_LE(std::abs(clock.ns), clock.error_ns);
        EXPECT_GT(clock.error_ns, 500'000'000); // half a second, and the half of the way
    }
}

// Fewer than these are seconds, whose half is the best guess; others are nanoseconds.
TEST_F(ClocksOfHosts, MayShowAnything) {
    date("web1", "echo 8999999999");
    date("web2", "echo 9000000000");
    date("web3", "echo 99999999999"); // as seconds, more than nanoseconds can tell
    date("web4", "echo 9223372036854775807");
    date("web5", "echo 1");
    const int64_t before = now_ns();
    open("web[1-5]");
    fan_out_->call();
    const int64_t after = now_ns();
    const int64_t shown[] = {8'999'999'999'500'000'000, 9'000'000'000, 99'999'999'999, INT64_MAX,
                             1'500'000'000};
    for (size_t i = 0; i < std::size(shown); i++) {
        EXPECT_EQ(fan_out_->host(i).stage(), Stage::Known) << failure(i);
        const int64_t offset = fan_out_->host(i).clock().ns;
        EXPECT_LE(offset, shown[i] - before) << i;
        EXPECT_GE(offset, shown[i] - after) << i;
    }
}

TEST_F(ClocksOfHosts, AreAskedThreeTimes) {
    date("web1", "echo >>$PLAYED/asked; command -p date +%s%N");
    open("web1");
    fan_out_->call();
    EXPECT_EQ(fan_out_->host(0).stage(), Stage::Known) << failure(0);
    EXPECT_EQ(*read_file(hosts_.file("asked")), "\n\n\n");
}

TEST_F(ClocksOfHosts, ShowATime) {
    date("web1", "echo 0");
    date("web2", "echo today");
    date("web3", "echo -1");
    open("web[1-3]");
    fan_out_->call();
    EXPECT_EQ(failure(0), "it does not tell the time: date +%s%N printed 0");
    EXPECT_EQ(failure(1), "it does not tell the time: date +%s%N printed today");
    EXPECT_EQ(failure(2), "it does not tell the time: date +%s%N printed -1");
}

// However the controller ends, hosts clean up by themselves.
TEST_F(FanOutTest, HostsCleanUpWhenTheControllerIsGone) {
    record("web1");
    record("web2");
    open("web[1-2]");
    load();
    fan_out_->host(0).go(FanOut::Clock::now());
    fan_out_->serve(milliseconds(10));
    EXPECT_EQ(hosts_.leftovers().size(), 2u);
    fan_out_.reset(); // kills what reaches the hosts
    hosts_.wait_until_nothing_is_left();
}

TEST_F(FanOutTest, ARequestToStopEndsEveryWait) {
    record("web1");
    hosts_.write("web1.login", "exec sleep 1000");
    open("web1");
    stop_ = true;
    fan_out_->call();
    EXPECT_LT(fan_out_->host(0).stage(), Stage::Known);
    fan_out_->stop();
    EXPECT_EQ(failure(0), "it was not started");
}

} // namespace
} // namespace djstap::hosts
