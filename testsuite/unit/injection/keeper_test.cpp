// SPDX-License-Identifier: GPL-2.0-or-later
// The process that outlives djstap: what it tells, what it keeps, and when it does its last work.
#include "injection/keeper.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

Status succeed() {
    return Done{};
}

TEST(Keeper, ReportsWhatItsWorkReturns) {
    auto keeper = Keeper::start({}, succeed, [] { return true; });
    ASSERT_TRUE(keeper);
    EXPECT_TRUE(keeper->begun());
    EXPECT_TRUE(keeper->end());
    EXPECT_TRUE(keeper->end()); // it is over
    auto other = Keeper::start({}, succeed, [] { return false; });
    ASSERT_TRUE(other);
    EXPECT_TRUE(other->begun());
    EXPECT_FALSE(other->end());
}

TEST(Keeper, HandsOnTheReasonAndTheHintOfAFailure) {
    const std::string reason(700, 'r'); // more than is read at once
    auto keeper = Keeper::start(
        {}, [&]() -> Status { return Failure{reason, "a hint\nof two lines"}; },
        [] { return true; });
    ASSERT_TRUE(keeper);
    const Status begun = keeper->begun();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.failure().message, reason);
    EXPECT_EQ(begun.failure().hint, "a hint\nof two lines");
    EXPECT_TRUE(keeper->end());
}

TEST(Keeper, TellsThatItWasKilled) {
    auto keeper = Keeper::start(
        {},
        []() -> Status {
            kill(getpid(), SIGKILL);
            return Done{};
        },
        [] { return true; });
    ASSERT_TRUE(keeper);
    const Status begun = keeper->begun();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.failure().message, "the process that places the probes was ended");
    EXPECT_FALSE(keeper->end());
}

// It must hold nothing open that others wait for the end of, and no folder.
TEST(Keeper, KeepsTheseDescriptorsAlone) {
    int kept[2], other[2];
    ASSERT_EQ(pipe(kept), 0);
    ASSERT_EQ(pipe(other), 0);
    auto keeper = Keeper::start(
        {kept[1]},
        [&]() -> Status {
            std::string told;
            const auto is_open = [](int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; };
            told += is_open(kept[1]) ? "kept " : "lost ";
            for (const int each : {0, 1, 2, kept[0], other[0], other[1]})
                told += is_open(each) ? "open " : "";
            char folder[8] = {};
            told += getcwd(folder, sizeof folder) ? folder : "?";
            told += getsid(0) == getpid() ? " session" : " same session";
            char name[16] = {};
            prctl(PR_GET_NAME, name);
            told += std::string(" ") + name;
            return Failure{told, ""};
        },
        [&] { return write(kept[1], "end", 3) == 3; });
    ASSERT_TRUE(keeper);
    const Status begun = keeper->begun();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.failure().message, "kept / session djstap-keeper");
    EXPECT_EQ(begun.failure().hint, "");
    EXPECT_TRUE(keeper->end());
    char end[4] = {};
    EXPECT_EQ(read(kept[0], end, sizeof end), 3);
    EXPECT_STREQ(end, "end");
    for (const int each : {kept[0], kept[1], other[0], other[1]})
        close(each);
}

// A terminal sends these to all of a session's processes, and a pipe that nobody reads SIGPIPE.
TEST(Keeper, GoesOnWhenSignalsCome) {
    auto keeper = Keeper::start(
        {},
        []() -> Status {
            for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
                raise(each);
            return Done{};
        },
        [] { return true; });
    ASSERT_TRUE(keeper);
    EXPECT_TRUE(keeper->begun());
    EXPECT_TRUE(keeper->end());
}

// djstap may be killed at any time: its last work is done then, and not before.
TEST(Keeper, DoesItsLastWorkWhenItsParentIsGone) {
    int done[2];
    ASSERT_EQ(pipe(done), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        auto keeper =
            Keeper::start({done[1]}, succeed, [&] { return write(done[1], "x", 1) == 1; });
        if (!keeper || !keeper->begun())
            _exit(1);
        fcntl(done[0], F_SETFL, O_NONBLOCK);
        char early = 0;
        _exit(read(done[0], &early, 1) < 0 ? 7 : 1);
    }
    ASSERT_GT(parent, 0);
    int status = 0;
    ASSERT_EQ(waitpid(parent, &status, 0), parent);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    fcntl(done[0], F_SETFL, 0);
    close(done[1]);
    char late = 0;
    EXPECT_EQ(read(done[0], &late, 1), 1);
    EXPECT_EQ(late, 'x');
    close(done[0]);
}

TEST(Keeper, AMovedOneHasTheProcess) {
    auto first = Keeper::start({}, succeed, [] { return false; });
    ASSERT_TRUE(first);
    Keeper second(std::move(*first));
    EXPECT_LT(first->pid(), 0);
    EXPECT_TRUE(first->end()); // it has no process
    EXPECT_GT(second.pid(), 0);
    EXPECT_TRUE(second.begun());
    EXPECT_FALSE(second.end());
}

} // namespace
} // namespace djstap::injection
