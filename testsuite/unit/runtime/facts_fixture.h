// SPDX-License-Identifier: GPL-2.0-or-later
// Three tasks that are made up, and a hit in the first one or one that interrupts another one.
#pragma once
#include "facts_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace djstap::test {

inline constexpr u64 nowhere = 16; // nothing is mapped there

class Facts : public testing::Test {
  protected:
    using Text = void(djs_ctx* ctx, char* out);

    void SetUp() override {
        djs_script.string_bytes = 64;
        ctx_.error_text = error_text_;
        ctx_.handler = &handler_;
        handler_.kind = DJS_HANDLER_ENTRY;
        test_fact_watched = true;
        test_fact_lookups = 0;
        tasks_[0] = {11, 10, 12, 13, 20, 21, 22, 23, 1, 4, 120, 100, 1, true, false, "first"};
        tasks_[1] = {31, 30, 32, 33, 40, 41, 42, 43, 2, 5, 99, 139, 1, true, false, "second"};
        tasks_[2] = {51, 50, 52, 53, 60, 61, 62, 63, 130, 7, -1, 121, 0, true, false, "third"};
        set();
    }
    void TearDown() override {
        EXPECT_EQ(test_rcu_depth, 0);
        djs_script = {};
    }
    void set() {
        for (u32 i = 0; i < TEST_FACT_TASKS; i++)
            test_fact_set(i, &tasks_[i]);
    }
    std::string error() { return std::exchange(ctx_.error, nullptr) ?: ""; }
    std::string text(Text* function) {
        std::string out(djs_script.string_bytes + 8, '#');
        function(&ctx_, out.data());
        EXPECT_EQ(out.substr(djs_script.string_bytes), "########");
        return out.c_str();
    }
    std::string name_of(s64 task) {
        char out[64];
        test_fact_task_execname(&ctx_, out, task);
        return out;
    }
    // The current task's, or those of the one that was interrupted.
    std::vector<s64> ids(int interrupted) {
        test_fact_act_for(&ctx_, interrupted);
        return {test_fact_pid(&ctx_),  test_fact_tid(&ctx_),         test_fact_ppid(&ctx_),
                test_fact_pgrp(&ctx_), test_fact_sid(&ctx_),         test_fact_uid(&ctx_),
                test_fact_euid(&ctx_), test_fact_gid(&ctx_),         test_fact_egid(&ctx_),
                test_fact_cpu(&ctx_),  test_fact_task_current(&ctx_)};
    }

    test_fact_task tasks_[TEST_FACT_TASKS]{};
    djs_ctx ctx_{};
    djs_handler handler_{};
    djs_site site_{};

  private:
    char error_text_[256]{};
};

} // namespace djstap::test
