/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of perf events, and a log of what becomes of their events. */
#ifndef DJSTAP_MADE_UP_PERF_H
#define DJSTAP_MADE_UP_PERF_H

#include "kernel_for_test.h"
#include "log_for_test.h"
#include "perf_for_test.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

extern "C" {
extern s32 djs_traced_pid;
extern bool djs_traced_executes;
}

class PerfEvents : public testing::Test {
  protected:
    void SetUp() override {
        test_perf_begin();
        for (u32 i = 0; i < TEST_PERF_SITES; i++) {
            sites_[i].mechanism = DJS_MECHANISM_PERF;
            sites_[i].handler = i;
            handlers_[i].arguments[DJS_PERF_TYPE] = 1;
            handlers_[i].arguments[DJS_PERF_CONFIG] = i;
            handlers_[i].arguments[DJS_PERF_RATE] = 100;
        }
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_PERF_SITES;
        djs_script.sites = sites_;
        djs_script.site_count = 1;
        djs_script.max_perf_threads = 1000;
        test_perf_sites[0].wanted = true;
        calls = 0;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        for (auto& site : test_perf_sites)
            site.wanted = false;
        test_perf_disarm();
        test_perf_free();
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_perf_references(), 0U);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_rcu_depth, 0);
        djs_traced_pid = 0;
        djs_traced_executes = false;
        djs_script = {};
    }
    void how(u32 number, u64 value) { handlers_[number].arguments[DJS_PERF_HOW] = value; }
    static inline u32 calls;
    static std::string log() { return taken_log(test_perf_log); }

    djs_handler handlers_[TEST_PERF_SITES]{};
    djs_site sites_[TEST_PERF_SITES]{};
};

#endif
