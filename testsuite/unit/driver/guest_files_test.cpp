// SPDX-License-Identifier: GPL-2.0-or-later
// Whether what runs in a guest sees this machine's files there, or copies of some.
#include "driver/guest_run.h"

#include "guest/guest.h"
#include "parsed_options.h"

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

} // namespace
} // namespace djstap::driver
