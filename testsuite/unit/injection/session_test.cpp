// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions in programs that do not begin.
#include "injection/session.h"

#include "injection/process_facts.h"
#include "system/temporary.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

// The command is at its program's entry then, and ends there.
TEST(SessionInAProgram, DoesNotBeginWithAScriptThatCannotBeLinked) {
    if (is_confined(getpid()))
        GTEST_SKIP() << "a filter confines this process, and so all that it starts";
    const TemporaryFolder folder = std::move(*TemporaryFolder::create(temporary_directory()));
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

} // namespace
} // namespace djstap::injection
