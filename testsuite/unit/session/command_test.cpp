// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/command.h"
#include "session/session.h"
#include "session/signals.h"
#include "session/traced_process.h"

#include "../surroundings.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace djstap;

namespace {
int wait_for(Command& command) {
    for (int i = 0; i < 5000; i++) {
        if (const auto status = command.ended())
            return *status;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "the command did not end";
    return -1;
}
using Words = std::vector<std::string>;
} // namespace

TEST(Command, SplitsPlainLinesAndGivesOthersToTheShell) {
    EXPECT_EQ(*parse_command("  ls -l\t/tmp "), (Words{"ls", "-l", "/tmp"}));
    EXPECT_EQ(*parse_command("ls | wc"), (Words{"/bin/sh", "-c", "ls | wc"}));
    EXPECT_EQ(*parse_command("A=1 anything"), (Words{"/bin/sh", "-c", "A=1 anything"}));
    EXPECT_EQ(*parse_command("cd /tmp"), (Words{"/bin/sh", "-c", "cd /tmp"}));
    EXPECT_EQ(*parse_command("sleep 1 && echo \"x y\""),
              (Words{"/bin/sh", "-c", "sleep 1 && echo \"x y\""}));
}

TEST(Command, QuotesVariablesAndPatternsTakeNoShell) {
    const test::Environment variable("DJSTAP_TEST", "a b");
    EXPECT_EQ(*parse_command("ls 'x  y' \"$DJSTAP_TEST\" $DJSTAP_TEST p\\ q"),
              (Words{"ls", "x  y", "a b", "a", "b", "p q"}));
    EXPECT_EQ(*parse_command("dd if=/etc/passwd count=1"),
              (Words{"dd", "if=/etc/passwd", "count=1"}));
    EXPECT_EQ(*parse_command("ls /etc/pass[w]d /etc/no*such"),
              (Words{"ls", "/etc/passwd", "/etc/no*such"}));
    EXPECT_EQ(*parse_command("sh -c 'ls | wc; exit 3'"), (Words{"sh", "-c", "ls | wc; exit 3"}));
    for (const char* line :
         {"ls $(echo /)", "ls `echo /`", "ls $not_set_anywhere", "ls > x", "ls # all", "! ls",
          "echo $$", "kill $PPID", "(ls)", "ls &", "ls 'x", "'A=1' x"})
        EXPECT_EQ(*parse_command(line), (Words{"/bin/sh", "-c", line}));
    EXPECT_FALSE(parse_command("slep '5 6'"));
}

TEST(Command, AMissingProgramIsNamedWithTheNearest) {
    auto parsed = parse_command("slep 5");
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.failure().message, "command 'slep' not found");
    EXPECT_NE(parsed.failure().hint.find("sleep"), std::string::npos) << parsed.failure().hint;
    EXPECT_FALSE(parse_command("slep 5 | wc"));
    EXPECT_FALSE(parse_command("/nowhere/x"));
    EXPECT_NE(parse_command("/etc/passwd").failure().message.find("not executable"),
              std::string::npos);
    EXPECT_NE(parse_command("   ").failure().message.find("empty"), std::string::npos);
}

TEST(Command, OfSeveralThatAreAsNearTheFirstByNameIsSuggested) {
    const std::string folder = testing::TempDir() + "djstap-near-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    for (char end : std::string("xdkbymaczr"))
        std::ofstream(folder + "/program" + end);
    EXPECT_EQ(parse_command(folder + "/program_").failure().hint, "did you mean 'programa'?");
    std::filesystem::remove_all(folder);
}

TEST(Command, WaitsUntilItIsReleased) {
    auto command = Command::prepare({"sh", "-c", "exit 3"});
    ASSERT_TRUE(command);
    EXPECT_GT(command->pid(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(command->ended());
    EXPECT_TRUE(command->release());
    EXPECT_EQ(describe_status(wait_for(*command)), "exited with status 3");
    auto killed = Command::prepare({"sh", "-c", "kill -9 $$"});
    EXPECT_TRUE(killed->release());
    EXPECT_NE(describe_status(wait_for(*killed)).find("signal 9"), std::string::npos);
    auto fine = Command::prepare({"true"});
    EXPECT_TRUE(fine->release());
    EXPECT_EQ(describe_status(wait_for(*fine)), "");
}

TEST(Command, EndedByTheSignalThatEndsTheSessionIsNoFailure) {
    auto killed = Command::prepare({"sh", "-c", "kill -TERM $$"});
    EXPECT_EQ(killed->failure(), "");
    EXPECT_TRUE(killed->release());
    wait_for(*killed);
    EXPECT_NE(killed->failure().find("signal 15"), std::string::npos);
    const StopSignals signals;
    raise(SIGTERM);
    EXPECT_EQ(killed->failure(), "");
    auto failed = Command::prepare({"sh", "-c", "exit 3"});
    EXPECT_TRUE(failed->release());
    wait_for(*failed);
    EXPECT_EQ(failed->failure(), "exited with status 3");
}

TEST(Command, OneThatIsNotReleasedRunsNothing) {
    pid_t pid;
    {
        auto command = Command::prepare({"sleep", "100"});
        pid = command->pid();
    }
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST(Command, AFailingExecIsReported) {
    auto command = Command::prepare({"/etc/passwd"});
    const auto released = command->release();
    ASSERT_FALSE(released);
    EXPECT_NE(released.failure().message.find("Permission denied"), std::string::npos);
}

// Errors are reported before anything is loaded: the module does not even exist here.
TEST(Session, TheCommandIsLookedForFirst) {
    SessionOptions options;
    options.module = "/nowhere.ko";
    options.command = "no-such-program-at-all";
    const auto outcome = run_session(options);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.failure().message, "command 'no-such-program-at-all' not found");
}

TEST(Session, MissingThingsAreNamed) {
    SessionOptions options;
    options.module = "/nowhere.ko";
    EXPECT_EQ(run_session(options).failure().message, "/nowhere.ko: No such file or directory");
    options.traced_pid = 0x3ffffff;
    EXPECT_EQ(run_session(options).failure().message, "there is no process 67108863");
    options.traced_pid = 0;
    options.attach = true;
    options.module = "not_loaded";
    EXPECT_EQ(run_session(options).failure().message, "no module 'not_loaded' of djstap is loaded");
    options.outputs.file = "/nowhere/x";
    EXPECT_EQ(run_session(options).failure().message, "/nowhere/x: No such file or directory");
}

TEST(TracedProcess, HasToExist) {
    SessionOptions options;
    EXPECT_TRUE(check_traced_process(options));
    options.traced_pid = getpid();
    errno = ESRCH; // of something before
    EXPECT_TRUE(check_traced_process(options));
    const pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
    options.traced_pid = gone;
    const djstap::Status refused = check_traced_process(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().message, "there is no process " + std::to_string(gone));
    options.check_traced_pid = false;
    EXPECT_TRUE(check_traced_process(options));
}
