// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions in programs that do not begin.
#include "injection/session.h"

#include "../surroundings.h"
#include "injection/process_facts.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

// The command is at its program's entry then, and ends there.
TEST(SessionInAProgram, DoesNotBeginWithAScriptThatCannotBeLinked) {
    if (is_confined(getpid()))
        GTEST_SKIP() << "a filter confines this process, and so all that it starts";
    const test::TestFolder folder;
    SessionOptions options;
    options.command_arguments = {"touch", folder.file("touched")};
    const std::string meta = R"({"version":1,"name":"demo"})";
    const auto outcome = run_in_program("no object", meta, 8192, options);
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(
        outcome.failure().message.starts_with("the script cannot be linked into the program: "))
        << outcome.failure().message;
    EXPECT_FALSE(std::filesystem::exists(folder.file("touched")));
}

// One that has ended, but was not waited for, has a number and no memory.
TEST(SessionInAProgram, NeedsAProgram) {
    const pid_t process = fork();
    if (process == 0)
        _exit(0);
    ASSERT_GT(process, 0);
    siginfo_t ended;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT), 0);
    SessionOptions options;
    options.traced_pid = process;
    const auto outcome =
        run_in_program("no object", R"({"version":1,"name":"demo"})", 8192, options);
    ASSERT_EQ(waitpid(process, nullptr, 0), process);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find(std::to_string(process)), std::string::npos)
        << outcome.failure().message;
}

} // namespace
} // namespace djstap::injection
