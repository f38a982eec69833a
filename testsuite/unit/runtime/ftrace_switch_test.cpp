// SPDX-License-Identifier: GPL-2.0-or-later
// Whether ftrace is enabled, who keeps it enabled, and what stays when it has disabled itself.
#include "ftrace_switch_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace {

class FtraceSwitch : public testing::Test {
  protected:
    void SetUp() override { test_switch_begin(); }
    void TearDown() override {
        EXPECT_EQ(test_switch_references(), 0);
        EXPECT_EQ(test_rcu_depth, 0);
        EXPECT_EQ(test_atomic_depth, 0);
    }
    static std::string log() { return taken_log(test_switch_log); }
};

TEST_F(FtraceSwitch, IsRead) {
    EXPECT_EQ(test_switch_is_on(), 1);
    strcpy(test_switch_text, "0\n");
    EXPECT_EQ(test_switch_is_on(), 0);
    strcpy(test_switch_text, "");
    EXPECT_EQ(test_switch_is_on(), -EIO);
    test_switch_error = -EPERM;
    EXPECT_EQ(test_switch_is_on(), -EPERM);
    test_switch_open_error = -ENOENT;
    EXPECT_EQ(test_switch_is_on(), -ENOENT);
}

TEST_F(FtraceSwitch, IsSet) {
    EXPECT_EQ(test_switch_set(false), 0);
    EXPECT_STREQ(test_switch_text, "0\n");
    EXPECT_EQ(test_switch_set(true), 0);
    EXPECT_STREQ(test_switch_text, "1\n");
    test_switch_most = 1;
    EXPECT_EQ(test_switch_set(true), -EIO);
    test_switch_most = 0;
    EXPECT_EQ(test_switch_set(true), -EIO);
    test_switch_error = -EBUSY;
    EXPECT_EQ(test_switch_set(false), -EBUSY);
    test_switch_open_error = -EACCES;
    EXPECT_EQ(test_switch_set(false), -EACCES);
}

TEST_F(FtraceSwitch, IsFoundByTheFirstProcess) {
    test_switch_has_no_root();
    EXPECT_EQ(test_switch_is_on(), -ENOENT);
    test_switch_has_process = false;
    EXPECT_EQ(test_switch_is_on(), -ENOENT);
}

TEST_F(FtraceSwitch, IsKeptOn) {
    EXPECT_EQ(test_let_ftrace_go(), 0);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_keep_ftrace(), 0);
    EXPECT_EQ(log(), "filter\non\n");
    EXPECT_EQ(test_keep_ftrace(), 0);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_let_ftrace_go(), 0);
    EXPECT_EQ(log(), "off\nno filter\n");
    EXPECT_EQ(test_let_ftrace_go(), 0);
    EXPECT_EQ(log(), "");
    test_keeper_error = -EBUSY; // it is off
    EXPECT_EQ(test_keep_ftrace(), -EBUSY);
    EXPECT_EQ(log(), "filter\non\nno filter\n");
    EXPECT_EQ(test_let_ftrace_go(), 0);
    EXPECT_EQ(log(), "");
    test_keeper_filter_error = -ENOMEM;
    EXPECT_EQ(test_keep_ftrace(), -ENOMEM);
    EXPECT_EQ(log(), "filter\nno filter\n");
    test_keeper_error = test_keeper_filter_error = 0;
    EXPECT_EQ(test_keep_ftrace(), 0);
    log();
    test_keeper_end_error = -ENODEV; // the kernel still uses the filter
    EXPECT_EQ(test_let_ftrace_go(), -ENODEV);
    EXPECT_EQ(log(), "off\n");
}

// ---- what cannot be detached --------------------------------------------------------------------

TEST_F(FtraceSwitch, KeepsTheModuleOfProbesThatCannotBeDetached) {
    EXPECT_FALSE(test_pinned());
    test_pin_report();
    EXPECT_EQ(test_pin_wait(), 0U);
    EXPECT_EQ(log(), "");
    test_pin(2, -EBUSY);
    EXPECT_TRUE(test_pinned());
    EXPECT_EQ(test_pin_references(), 1U);
    test_pin_report();
    EXPECT_EQ(log(), "djstap: 2 of its probes cannot be detached (error -16): it stays loaded "
                     "until the machine is restarted\n");
    test_pin_report();
    EXPECT_EQ(log(), "");
    test_pin_ftrace_is_dead = true;
    test_pin(3, -ENODEV);
    EXPECT_EQ(test_pin_references(), 1U);
    test_pin_report();
    EXPECT_EQ(log(), "djstap: 5 of its probes cannot be detached (error -19, ftrace has disabled "
                     "itself): it stays loaded until the machine is restarted\n");
    EXPECT_EQ(test_pin_wait(), 5U); // for ever
    EXPECT_EQ(log(), "djstap: its removal will never finish\n");
}

TEST_F(FtraceSwitch, HoldsNoModuleThatIsBeingUnloaded) {
    test_pin_is_unloaded = true;
    test_pin(1, -EBUSY);
    EXPECT_EQ(test_pin_references(), 0U);
    EXPECT_TRUE(test_pinned());
    test_pin_is_unloaded = false;
    test_pin(1, -EBUSY); // as soon as that is possible
    EXPECT_EQ(test_pin_references(), 1U);
}

} // namespace
