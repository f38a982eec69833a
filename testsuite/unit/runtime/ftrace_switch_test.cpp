// SPDX-License-Identifier: GPL-2.0-or-later
// Whether ftrace is enabled, and who keeps it enabled.
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

} // namespace
