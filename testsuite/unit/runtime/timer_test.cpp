// SPDX-License-Identifier: GPL-2.0-or-later
// The periods of timers, and what they run.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "timer_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace {

u32 calls;

class KernelTimers : public testing::Test {
  protected:
    void SetUp() override {
        test_timers_begin();
        sites_[0].mechanism = sites_[1].mechanism = DJS_MECHANISM_TIMER;
        sites_[1].handler = 1;
        handlers_[0].arguments[DJS_TIMER_PERIOD_NS] = 50'000'000;
        handlers_[1].arguments[DJS_TIMER_PERIOD_NS] = 70'000'000;
        djs_script.handlers = handlers_;
        djs_script.handler_count = 2;
        djs_script.sites = sites_;
        djs_script.site_count = 2;
        calls = 0;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_timer_wanted[0] = test_timer_wanted[1] = false;
        test_timers_disarm();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    static std::string log() { return taken_log(test_timer_log); }
    // That of a timer which is started now.
    s64 first(u64 period, u64 random) {
        test_timer_wanted[0] = false;
        test_timers_disarm();
        handlers_[0].arguments[DJS_TIMER_PERIOD_NS] = period;
        handlers_[0].arguments[DJS_TIMER_RANDOM_NS] = random;
        test_timer_wanted[0] = true;
        EXPECT_EQ(test_timers_attach(), 0);
        return test_timer_interval;
    }
    static s64 next() {
        test_timer_log[0] = 0;
        test_timer_expires(0);
        EXPECT_EQ(log(), "handler\n");
        return test_timer_interval;
    }

    djs_handler handlers_[2]{};
    djs_site sites_[2]{};
};

TEST_F(KernelTimers, BeginWhenTheyAreWanted) {
    test_timer_wanted[1] = true;
    EXPECT_EQ(test_timers_attach(), 0);
    EXPECT_EQ(log(), "started\n");
    EXPECT_FALSE(test_timer_armed[0]);
    EXPECT_TRUE(test_timer_armed[1]);
    EXPECT_EQ(test_timer_interval, 70'000'000);
    test_timer_wanted[0] = true;
    EXPECT_EQ(test_timers_attach(), 0);
    EXPECT_EQ(log(), "started\n");
    EXPECT_EQ(test_timer_interval, 50'000'000);
    test_timer_expires(1);
    EXPECT_EQ(log(), "handler\n");
    EXPECT_EQ(test_timer_interval, 70'000'000);
    test_timers_disarm();
    EXPECT_EQ(log(), "");
    test_timer_wanted[0] = false;
    test_timers_disarm();
    EXPECT_EQ(log(), "cancelled\nno job\n");
    EXPECT_FALSE(test_timer_armed[0]);
    EXPECT_TRUE(test_timer_armed[1]);
    EXPECT_EQ(guarded_count(), 1U);
}

TEST_F(KernelTimers, AreOnlyThoseOfThatMechanism) {
    sites_[0].mechanism = DJS_MECHANISM_PERF;
    test_timer_wanted[0] = true;
    EXPECT_EQ(test_timers_attach(), 0);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(guarded_count(), 0U);
}

TEST_F(KernelTimers, CallCodeThatNeedsNoContext) {
    handlers_[0].by_regs = [](void* unused, pt_regs* regs) {
        calls += unused == nullptr && regs == nullptr;
        return 0;
    };
    test_timer_wanted[0] = true;
    EXPECT_EQ(test_timers_attach(), 0);
    log();
    test_timer_expires(0);
    test_timer_expires(0);
    EXPECT_EQ(calls, 2U);
    EXPECT_EQ(log(), "");
}

TEST_F(KernelTimers, BeginJobs) {
    handlers_[0].flags = DJS_HANDLER_IN_TASK;
    test_timer_wanted[0] = true;
    test_no_job = true;
    EXPECT_EQ(test_timers_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
    EXPECT_FALSE(test_timer_armed[0]);
    EXPECT_EQ(guarded_count(), 0U);
    test_no_job = false;
    EXPECT_EQ(test_timers_attach(), 0);
    test_timer_expires(0);
    EXPECT_EQ(log(), "started\njob\n");
    test_timer_wanted[0] = false;
    test_timers_disarm();
    EXPECT_EQ(log(), "cancelled\njob ended\n");
}

TEST_F(KernelTimers, NeedMemory) {
    test_timer_wanted[0] = test_timer_wanted[1] = true;
    test_allocations_left = 0;
    EXPECT_EQ(test_timers_attach(), -ENOMEM);
    test_allocations_left = 1;
    EXPECT_EQ(test_timers_attach(), -ENOMEM);
    EXPECT_EQ(log(), "started\n");
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(test_timers_attach(), 0);
    EXPECT_EQ(log(), "started\n");
}

TEST_F(KernelTimers, LeaveTimeForOthers) {
    EXPECT_EQ(first(9'999, 0), 10'000);
    EXPECT_EQ(first(10'000, 0), 10'000);
    EXPECT_EQ(first(10'001, 0), 10'001);
    EXPECT_EQ(first(1, 1), 10'000);
}

TEST_F(KernelTimers, VaryByAsMuchAsTheyMay) {
    const struct {
        u64 period, random, spread;
    } cases[] = {
        {1'000'000, 3, 3}, {1'000'000, 1'000'000, 1'000'000}, {1'000'000, 9'000'000, 1'000'000}};
    for (const auto& [period, random, spread] : cases) {
        test_timer_random = 0x123456789abcdef2;
        u64 state = test_timer_random | 1; // xorshift64
        s64 least = LONG_MAX, most = 0;
        for (int i = 0; i < 1000; i++) {
            const s64 interval = i == 0 ? first(period, random) : next();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const u64 expected = period - spread + state % (2 * spread + 1);
            ASSERT_EQ(interval, static_cast<s64>(std::max<u64>(expected, 10'000))) << i;
            least = std::min(least, interval);
            most = std::max(most, interval);
        }
        EXPECT_LE(least, static_cast<s64>(std::max<u64>(period - spread + spread / 20, 10'000)));
        EXPECT_GE(most, static_cast<s64>(period + spread - spread / 20));
    }
}

} // namespace
