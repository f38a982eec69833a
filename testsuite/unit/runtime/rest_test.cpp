// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that run in a task: the locks that they hold, and what they give up now and then.
#include "log_for_test.h"
#include "rest_for_test.h"

#include <gtest/gtest.h>

#include <string>

namespace {

class Rest : public testing::Test {
  protected:
    void SetUp() override {
        test_rest_begin();
        handler_.lock_count = 3;
        ctx_.handler = &handler_;
    }
    static std::string log() { return taken_log(test_rest_log); }
    std::string rested(u32 how) {
        ctx_.rests = how;
        test_rest(&ctx_);
        return log();
    }

    djs_handler handler_{}, interrupted_{};
    djs_ctx ctx_{};
};

// What a hit on this CPU finds busy meanwhile, with interrupts disabled, is the context of tasks.
TEST_F(Rest, LocksAreHeldWithTheContextOfTasks) {
    test_rest_lock(&ctx_);
    EXPECT_EQ(log(), "off barrier(0x20) try(0x20) ");
    EXPECT_EQ(test_rest_context.busy, DJS_BUSY_LOCKED);
    EXPECT_EQ(test_rest_context.handler, &handler_);
    EXPECT_EQ(test_rest_irqs, static_cast<u64>(TEST_REST_IRQS_OFF));
    EXPECT_EQ(ctx_.irq_flags, static_cast<u64>(TEST_REST_IRQS_ON));
    EXPECT_EQ(ctx_.locks_held, 3U);
    test_rest_unlock(&ctx_);
    EXPECT_EQ(log(), "release(0x20) barrier(0x20) restored ");
    EXPECT_EQ(test_rest_context.busy, 0U);
    EXPECT_EQ(test_rest_context.handler, nullptr);
    EXPECT_EQ(test_rest_irqs, static_cast<u64>(TEST_REST_IRQS_ON));
    EXPECT_EQ(ctx_.locks_held, 0U);
}

// With PREEMPT_RT a deferred call may have it.
TEST_F(Rest, GivesTheContextBackAsItWas) {
    test_rest_context.busy = DJS_BUSY_UNLOCKED;
    test_rest_context.handler = &interrupted_;
    test_rest_refused = 1;
    test_rest_lock(&ctx_);
    EXPECT_EQ(log(), "off barrier(0x20) try(0x20) barrier(0x20) restored relax yields(0x10) "
                     "off barrier(0x20) try(0x20) ");
    test_rest_unlock(&ctx_);
    EXPECT_EQ(test_rest_context.busy, DJS_BUSY_UNLOCKED);
    EXPECT_EQ(test_rest_context.handler, &interrupted_);
}

TEST_F(Rest, YieldsTheCpuUntilTheLocksAreFree) {
    const std::string refused = "off barrier(0x20) try(0x20) barrier(0x20) restored relax "
                                "yields(0) ";
    test_rest_refused = 2;
    ctx_.locks_held = 77;
    test_rest_lock(&ctx_);
    EXPECT_EQ(log(), refused + refused + "off barrier(0x20) try(0x20) ");
    EXPECT_EQ(ctx_.locks_held, 3U);
    EXPECT_EQ(ctx_.irq_flags, static_cast<u64>(TEST_REST_IRQS_ON));
}

TEST_F(Rest, LetsOthersRunMeanwhile) {
    test_rest_lock(&ctx_);
    log();
    EXPECT_EQ(rested(DJS_RESTS_SHARED), "release(0x20) barrier(0x20) restored yields(0) "
                                        "off barrier(0x20) try(0x20) ");
    EXPECT_EQ(ctx_.locks_held, 3U);
    test_rest_is_killed = true; // that is for those that no other handler waits for
    rested(DJS_RESTS_SHARED);
    EXPECT_EQ(ctx_.error, nullptr);
}

TEST_F(Rest, OfABeginProbeKeepsItsLocks) {
    EXPECT_EQ(rested(DJS_RESTS_ALONE), "yields(0) ");
    EXPECT_EQ(ctx_.error, nullptr);
    test_rest_is_killed = true;
    EXPECT_EQ(rested(DJS_RESTS_ALONE), "yields(0) ");
    EXPECT_STREQ(ctx_.error, "killed");
    EXPECT_EQ(ctx_.error_place, ~0U); // it is not the script's
}

TEST_F(Rest, IsNotForOthers) {
    test_rest_is_killed = true;
    EXPECT_EQ(rested(DJS_RESTS_NEVER), "");
    EXPECT_EQ(ctx_.error, nullptr);
}

} // namespace
