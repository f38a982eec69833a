// SPDX-License-Identifier: GPL-2.0-or-later
// Whether what runs in a guest sees this machine's files there, or copies of some.
#include "driver/guest_run.h"

#include "../surroundings.h"
#include "guest/guest.h"
#include "parsed_options.h"
#include "system/process.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <optional>

namespace djstap::driver {
namespace {

class FilesInAGuest : public testing::Test {
  protected:
    std::optional<GuestFiles> settled(Words words) {
        words.emplace_back("script");
        invocation_ = std::make_unique<Invocation>(accept(std::move(words)));
        return settle_guest_files(*invocation_);
    }
    // Each message with its hint.
    std::vector<std::string> told() const {
        std::vector<std::string> all;
        for (const Diagnostic& each : invocation_->diagnostics.all())
            all.push_back(each.message + "? " + each.hint_text);
        return all;
    }

  private:
    std::unique_ptr<Invocation> invocation_;
};

TEST_F(FilesInAGuest, AreNoneWithoutACommand) {
    EXPECT_EQ(settled({"--guest"}), GuestFiles::None);
    EXPECT_EQ(settled({"-c", "true"}), GuestFiles::None) << "it runs here";
    EXPECT_TRUE(told().empty());
}

// They are copied where they cannot be shared, unless they were asked for.
TEST_F(FilesInAGuest, AreSharedWherePossible) {
    const Status can = can_share_host_files();
    const auto of_command = settled({"--guest", "-c", "true"});
    const auto warned = told();
    const auto asked_for = settled({"--guest", "--guest-root"});
    const auto refused = told();
    if (can) {
        EXPECT_EQ(of_command, GuestFiles::Shared);
        EXPECT_EQ(asked_for, GuestFiles::Shared);
        EXPECT_TRUE(warned.empty() && refused.empty());
        return;
    }
    EXPECT_EQ(of_command, GuestFiles::Copied);
    EXPECT_EQ(asked_for, std::nullopt);
    for (const auto& messages : {warned, refused}) {
        ASSERT_EQ(messages.size(), 1u);
        EXPECT_NE(messages[0].find(can.failure().message), std::string::npos) << messages[0];
        EXPECT_TRUE(messages[0].ends_with("? " + can.failure().hint)) << messages[0];
    }
}

// The folder of djstap's programs is the last one in which a command is looked for.
TEST(CommandsOfRuns, MayBeDjstapsOwn) {
    const auto path_with = [](const std::optional<std::string>& path, const std::string& command) {
        const test::Environment set("PATH", path);
        Invocation invocation(accept({"-c", "true", "-e", "x"}));
        invocation.options.command = command;
        invocation.places.programs = "/own/programs";
        check_command(invocation);
        const char* const now = getenv("PATH");
        return std::string(now ? now : "none");
    };
    EXPECT_EQ(path_with("/usr/bin:/bin", "true"), "/usr/bin:/bin:/own/programs");
    EXPECT_EQ(path_with("/usr/bin:/bin", ""), "/usr/bin:/bin");
    EXPECT_EQ(path_with("", "true"), "/own/programs");
    std::string standard;
    {
        const test::Environment unset("PATH");
        for (const std::string& folder : search_path())
            standard += folder + ":";
    }
    EXPECT_EQ(path_with(std::nullopt, "true"), standard + "/own/programs");
}

TEST(CommandsOfRuns, AreLookedForBeforeAnythingIsCompiled) {
    const test::Environment set("PATH", "/usr/bin:/bin");
    Invocation found(accept({"-c", "true", "-e", "x"}));
    EXPECT_EQ(check_command(found), GuestFiles::None);
    EXPECT_EQ(found.diagnostics.error_count(), 0u);
    Invocation missing(accept({"-c", "/none/such-program", "-e", "x"}));
    EXPECT_EQ(check_command(missing), std::nullopt);
    ASSERT_EQ(missing.diagnostics.error_count(), 1u);
    EXPECT_EQ(missing.diagnostics.all().back().kind, DiagnosticKind::CommandMissing);
}

} // namespace
} // namespace djstap::driver
