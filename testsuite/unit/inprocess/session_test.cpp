// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/session.h"

#include <climits>
#include <gtest/gtest.h>

namespace djstap {
namespace {

// Returns why a session cannot begin; its object is not looked at before.
Failure failure_with(const SessionOptions& options) {
    const auto outcome = run_in_user_space("", "", 4096, options);
    EXPECT_FALSE(outcome);
    return outcome ? Failure{} : outcome.failure();
}

TEST(UserSpace, TheCommandAndTheTracedProcessAreLookedForFirst) {
    SessionOptions options;
    options.command = "/no/such/program";
    EXPECT_NE(failure_with(options).message.find("'/no/such/program' not found"),
              std::string::npos);
    options.traced_pid = INT_MAX;
    EXPECT_EQ(failure_with(options).message, "there is no process " + std::to_string(INT_MAX));
}

} // namespace
} // namespace djstap
