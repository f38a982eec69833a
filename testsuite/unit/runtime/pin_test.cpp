// SPDX-License-Identifier: GPL-2.0-or-later
// A module whose probes cannot be detached stays.
#include "log_for_test.h"
#include "pin_for_test.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace {

class Pinned : public testing::Test {
  protected:
    void SetUp() override { test_pin_forget(); }
    void TearDown() override {
        test_pin_forget();
        test_pin_log[0] = 0;
    }
    static std::string report() {
        test_pin_report();
        return taken_log(test_pin_log);
    }
};

TEST_F(Pinned, IsNothingAtFirst) {
    EXPECT_FALSE(test_pinned());
    EXPECT_EQ(report(), "");
    EXPECT_EQ(test_pin_sleeps(), 0U);
    EXPECT_EQ(taken_log(test_pin_log), "");
    EXPECT_EQ(test_pin_references, 0U);
}

TEST_F(Pinned, KeepTheModuleWithOneReferenceAndAreReportedOnce) {
    test_pin(1, -ENODEV);
    EXPECT_TRUE(test_pinned());
    EXPECT_EQ(test_pin_references, 1U);
    EXPECT_EQ(report(), "djstap: 1 of its probes cannot be detached (error -19): it stays loaded "
                        "until the machine is restarted\n");
    EXPECT_EQ(report(), "");
    test_pin_ftrace_dead = true;
    test_pin(3, -EINVAL);
    EXPECT_EQ(test_pin_references, 1U);
    EXPECT_EQ(report(), "djstap: 4 of its probes cannot be detached (error -22, ftrace has "
                        "disabled itself): it stays loaded until the machine is restarted\n");
    EXPECT_EQ(report(), "");
}

// While it is being unloaded no reference can be taken: whoever unloads it waits for ever.
TEST_F(Pinned, KeepAModuleThatIsBeingUnloaded) {
    test_pin_is_unloaded = true;
    test_pin(1, -ENODEV);
    EXPECT_TRUE(test_pinned());
    EXPECT_EQ(test_pin_references, 0U);
    report();
    EXPECT_EQ(test_pin_sleeps(), 3U);
    EXPECT_EQ(taken_log(test_pin_log), "djstap: its removal will never finish\n");
    test_pin_is_unloaded = false; // it is tried again
    test_pin(1, -ENODEV);
    EXPECT_EQ(test_pin_references, 1U);
}

} // namespace
