// SPDX-License-Identifier: GPL-2.0-or-later
// What a session does in the kernel, beside its begin and end probes (session_life_test.cpp): its
// states, its gate, and what becomes of it without a reader.
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "session_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace {

class KernelSession : public testing::Test {
  protected:
    // The script has a begin probe and an end probe, and no memory behind them.
    void SetUp() override {
        static void* end;
        test_session_begin();
        handlers_ = static_cast<djs_handler*>(guarded_end(&end)) - 2;
        handlers_[0] = handlers_[1] = {};
        handlers_[0].kind = DJS_HANDLER_BEGIN;
        handlers_[1].kind = DJS_HANDLER_END;
        handlers_[0].body = [](djs_ctx* ctx) { begun(ctx); };
        handlers_[1].body = [](djs_ctx*) { log_ += "end "; };
        handlers_[0].max_actions = handlers_[1].max_actions = 1000;
        djs_script.handlers = handlers_;
        djs_script.handler_count = 2;
        begun = [](djs_ctx*) { log_ += "begin "; };
        log_.clear();
    }
    void TearDown() override { djs_script = {}; }
    // Handlers, then whatever else was done: both are in their order.
    static std::string log() {
        auto all = log_ + "| " + taken_log(test_session_log);
        log_.clear();
        return all;
    }
    static std::string started() {
        EXPECT_EQ(test_session_start(), 0);
        return log();
    }
    static std::string stopped() {
        test_session_stop();
        return log();
    }
    static std::string abandoned(u32 state) {
        test_session_control.state = state;
        test_session_abandoned();
        return taken_log(test_session_log);
    }

    djs_handler* handlers_ = nullptr;
    static inline void (*begun)(djs_ctx*);
    static inline std::string log_;
};

TEST_F(KernelSession, OpensTheGateWhenSitesAreArmed) {
    test_session_gate = DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(started(), "begin | starting arm running gate(0x2) ");
    EXPECT_EQ(test_session_start(), -EBUSY);
    EXPECT_EQ(log(), "| ");
    EXPECT_EQ(stopped(), "end | close stopping disarm stopped ");
    EXPECT_EQ(stopped(), "| ");
    EXPECT_EQ(test_session_start(), -EBUSY);
}

TEST_F(KernelSession, KeepsWhatTheGateTellsOfInterrupts) {
    test_session_gate = DJS_GATE_NO_INLINE_LOCKS | DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(started(), "begin | starting arm running gate(0x10002) ");
}

TEST_F(KernelSession, IsNotArmedAfterAnExit) {
    begun = [](djs_ctx*) { test_session_control.exit_requested = 1; };
    EXPECT_EQ(started(), "| starting ");
    EXPECT_EQ(stopped(), "end | close stopping disarm stopped ");
}

// exit() has closed a gate that was not open yet.
TEST_F(KernelSession, ClosesTheGateAgainIfItShouldEndMeanwhile) {
    test_session_opened = [] { test_session_control.exit_requested = 1; };
    EXPECT_EQ(started(), "begin | starting arm running close gate(0x2) ");
}

TEST_F(KernelSession, EndsIfNothingCanBeProbed) {
    test_session_arm_error = -ENODEV;
    EXPECT_EQ(test_session_start(), -ENODEV);
    EXPECT_EQ(log(), "begin | starting arm nothing is probed (error -19)\n");
    EXPECT_EQ(test_session_control.exit_requested, 1U);
    EXPECT_EQ(test_session_control.error, 1U);
    EXPECT_EQ(stopped(), "| close stopping disarm stopped "); // nothing was collected
}

TEST_F(KernelSession, ShowsWhatItCollectedUntilAnError) {
    started();
    test_session_control.error = 1;
    EXPECT_EQ(stopped(), "end | close stopping disarm stopped ");
}

TEST_F(KernelSession, IsNotStartedAfterItWasStopped) {
    EXPECT_EQ(stopped(), "| stopped ");
    EXPECT_EQ(test_session_start(), -EBUSY);
    EXPECT_EQ(stopped(), "| ");
}

TEST_F(KernelSession, LooksAtItsSitesWhileItRuns) {
    const auto rearmed = [] {
        test_session_rearm();
        return log();
    };
    EXPECT_EQ(rearmed(), "| ");
    started();
    EXPECT_EQ(rearmed(), "| rearm ");
    stopped();
    EXPECT_EQ(rearmed(), "| ");
}

// ---- without an owner ---------------------------------------------------------------------------

TEST_F(KernelSession, StopsWithoutAnOwner) {
    EXPECT_EQ(abandoned(DJS_STATE_LOADED), "");
    EXPECT_EQ(abandoned(DJS_STATE_STARTING), "stop-soon ");
    EXPECT_EQ(abandoned(DJS_STATE_RUNNING), "stop-soon ");
    EXPECT_EQ(abandoned(DJS_STATE_STOPPING), "");
    EXPECT_EQ(abandoned(DJS_STATE_STOPPED), "");
}

TEST_F(KernelSession, OfAFlightRecorderGoesOn) {
    test_session_overwrites = true;
    EXPECT_EQ(abandoned(DJS_STATE_RUNNING), "");
    test_session_control.exit_requested = 1;
    EXPECT_EQ(abandoned(DJS_STATE_RUNNING), "stop-soon ");
    EXPECT_EQ(abandoned(DJS_STATE_STOPPED), "");
}

// ---- long begin and end probes ------------------------------------------------------------------

TEST_F(KernelSession, ProbesRestAfterSomeStatements) {
    static s32 actions, more;
    begun = [](djs_ctx* ctx) {
        actions = ctx->actions;
        more = ctx->more_actions;
    };
    const auto with = [&](u32 most) {
        test_session_control.state = DJS_STATE_LOADED;
        handlers_[0].max_actions = most;
        started();
        EXPECT_EQ(test_session_context.more_actions, 0); // no other one uses them up
    };
    with(25000);
    EXPECT_EQ(actions, 10000);
    EXPECT_EQ(more, 15000);
    with(10000);
    EXPECT_EQ(actions, 10000);
    EXPECT_EQ(more, 0);
    with(7);
    EXPECT_EQ(actions, 7);
    EXPECT_EQ(more, 0);
}

TEST_F(KernelSession, ProbesGoOnAfterARest) {
    djs_ctx ctx{};
    const auto goes_on = [&](s32 actions, s32 more) {
        ctx.actions = actions;
        ctx.more_actions = more;
        ctx.error = nullptr;
        return test_session_more_actions(&ctx, 5);
    };
    EXPECT_EQ(goes_on(0, 25000), 1U);
    EXPECT_EQ(ctx.actions, 10000);
    EXPECT_EQ(ctx.more_actions, 15000);
    EXPECT_EQ(log(), "| rest ");
    EXPECT_EQ(goes_on(0, 3), 1U);
    EXPECT_EQ(ctx.actions, 3);
    EXPECT_EQ(ctx.more_actions, 0);
    EXPECT_EQ(log(), "| rest ");
    // A loop has counted more at once than there were.
    EXPECT_EQ(goes_on(-10005, 30000), 1U);
    EXPECT_EQ(ctx.actions, 9995);
    EXPECT_EQ(ctx.more_actions, 10000);
    EXPECT_EQ(log(), "| rest rest ");
    EXPECT_EQ(ctx.error, nullptr);
    EXPECT_EQ(goes_on(1, 3), 1U); // there is one
    EXPECT_EQ(ctx.error, nullptr);
    EXPECT_EQ(log(), "| ");
    for (const auto& [actions, more] : {std::pair(0, 0), std::pair(-5, 0), std::pair(-5, 5)}) {
        EXPECT_EQ(goes_on(actions, more), 0U);
        EXPECT_STREQ(ctx.error, "MAXACTION exceeded");
        EXPECT_EQ(ctx.error_place, 5U);
    }
    EXPECT_EQ(log(), "| rest ");
}

TEST_F(KernelSession, ProbesEndIfTheirProcessIsKilledMeanwhile) {
    djs_ctx ctx{};
    ctx.more_actions = 25000;
    test_session_rest_error = "killed";
    EXPECT_EQ(test_session_more_actions(&ctx, 5), 0U);
    EXPECT_STREQ(ctx.error, "killed");
    EXPECT_EQ(ctx.more_actions, 25000);
    EXPECT_EQ(log(), "| rest ");
}

TEST_F(KernelSession, ProbesReportTheirErrors) {
    begun = [](djs_ctx* ctx) { ctx->error = "of the probe"; };
    EXPECT_EQ(started(), "| starting of the probe arm running gate(0x2) ");
    EXPECT_EQ(test_session_context.error, nullptr);
}

} // namespace
