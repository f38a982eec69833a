// SPDX-License-Identifier: GPL-2.0-or-later
// When the conditions of probes are evaluated, and what sites they want; and when it matters that a
// livepatch is loaded.
#include "conditions_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace {

class Conditions : public testing::Test {
  protected:
    void SetUp() override {
        test_conditions_begin();
        for (u32 i = 0; i < TEST_CONDITION_SITES; i++) {
            sites_[i].handler = i;
            test_condition_sites[i].mechanism = DJS_MECHANISM_DJPROBE;
            handlers_[i].probe = DJS_NO_INDEX;
        }
        // The handlers that evaluate the two conditions are the last ones.
        handlers_[4].body = [](djs_ctx* ctx) { ctx->condition = first; };
        handlers_[5].body = [](djs_ctx* ctx) { ctx->condition = second; };
        djs_script.handlers = handlers_;
        djs_script.handler_count = 6;
        djs_script.sites = sites_;
        djs_script.site_count = TEST_CONDITION_SITES;
        djs_script.condition_states = states_;
        djs_script.condition_count = 2;
        djs_script.switches = switches_;
        first = second = 0;
    }
    void TearDown() override {
        EXPECT_EQ(test_atomic_depth, 0);
        djs_script = {};
    }
    // The numbers of the sites that are wanted.
    static std::string wanted() {
        test_conditions_evaluate();
        std::string numbers;
        for (u32 i = 0; i < djs_script.site_count; i++)
            if (test_condition_sites[i].wanted)
                numbers += std::to_string(i);
        return numbers;
    }
    static std::string log() { return taken_log(test_conditions_log); }

    static inline u64 first, second;
    djs_handler handlers_[6]{};
    djs_site sites_[TEST_CONDITION_SITES]{};
    u32 states_[2]{}, switches_[2]{};
};

TEST_F(Conditions, AreEvaluatedInATaskAfterTheyHaveChanged) {
    test_conditions_changed();
    test_conditions_changed(); // that is known
    EXPECT_EQ(log(), "interrupt\n");
    test_conditions_interrupt();
    EXPECT_EQ(log(), "task\n");
    test_conditions_changed();
    EXPECT_EQ(log(), "");
    test_conditions_rearm = [] { test_conditions_changed(); }; // what is being evaluated changes
    test_conditions_work();
    EXPECT_EQ(log(), "rearm\ninterrupt\n");
    test_conditions_rearm = nullptr;
    test_conditions_interrupt();
    test_conditions_work();
    EXPECT_EQ(log(), "task\nrearm\n");
    // At the end, what is on its way is waited for, and starts nothing.
    test_conditions_changed();
    test_conditions_exit();
    EXPECT_EQ(log(), "interrupt\ntask\nno task\n");
    test_conditions_interrupt();
    test_conditions_work();
    EXPECT_EQ(log(), "");
}

TEST_F(Conditions, AreKeptBeforeOthersChangeTheirGlobals) {
    first = 1ull << 40;
    states_[1] = 1;
    test_conditions_evaluate();
    EXPECT_EQ(log(), "states 1 1\nstates 1 0\n");
    first = 0;
    handlers_[5].body = [](djs_ctx*) {}; // it failed: that of another one does not count
    test_conditions_evaluate();
    EXPECT_EQ(log(), "states 0 0\nstates 0 0\n");
}

TEST_F(Conditions, StayAsTheyWereIfTheyCannotBeEvaluated) {
    states_[0] = 1;
    handlers_[0].condition = handlers_[1].condition = 1;
    handlers_[2].condition = handlers_[3].condition = 2;
    test_conditions_no_context = true;
    EXPECT_EQ(wanted(), "01");
    EXPECT_EQ(log(), "interrupt\n"); // again, soon
    EXPECT_EQ(states_[0], 1U);
}

TEST_F(Conditions, WantTheSitesOfTheirProbes) {
    handlers_[0].condition = 1;
    handlers_[1].condition = 2;
    EXPECT_EQ(wanted(), "23");
    first = 1;
    EXPECT_EQ(wanted(), "023");
    second = 1;
    EXPECT_EQ(wanted(), "0123");
    test_condition_sites[2].absent = true;
    test_condition_sites[1].disarmed = true;
    EXPECT_EQ(wanted(), "03");
}

TEST_F(Conditions, OfADirectCallAreThoseOfAllItsHandlers) {
    test_condition_sites[0].next = 1;
    test_condition_sites[1].next = 2;
    handlers_[0].condition = handlers_[1].condition = handlers_[2].condition = 1;
    EXPECT_EQ(wanted(), "3");
    handlers_[2].condition = 2;
    second = 1;
    EXPECT_EQ(wanted(), "0123");
    test_condition_sites[1].disarmed = true;
    EXPECT_EQ(wanted(), "023");
    // Other mechanisms share nothing.
    for (auto& site : test_condition_sites)
        site.mechanism = DJS_MECHANISM_FTRACE;
    EXPECT_EQ(wanted(), "23");
}

TEST_F(Conditions, AreNotNeeded) {
    djs_script.condition_count = 0;
    test_condition_sites[1].absent = true;
    test_condition_sites[2].disarmed = true;
    test_condition_sites[0].next = 3;
    EXPECT_EQ(wanted(), "03");
    EXPECT_EQ(log(), "");
}

TEST_F(Conditions, AreBesideSwitches) {
    djs_script.condition_count = 0;
    djs_script.switch_count = 2;
    handlers_[0].probe = 0;
    handlers_[1].probe = 1;
    handlers_[2].probe = 2; // without one
    EXPECT_EQ(wanted(), "0123");
    EXPECT_EQ(test_conditions_switch(1, false), 0);
    EXPECT_EQ(log(), "rearm\n");
    EXPECT_EQ(switches_[1], 1U);
    EXPECT_EQ(wanted(), "023");
    EXPECT_EQ(test_conditions_switch(0, false), 0);
    EXPECT_EQ(test_conditions_switch(1, true), 0);
    EXPECT_EQ(wanted(), "123");
    log();
    EXPECT_EQ(test_conditions_switch(2, false), -ENOENT);
    EXPECT_EQ(log(), "");
    djs_script.condition_count = 2;
    handlers_[1].condition = 1;
    EXPECT_EQ(wanted(), "23");
}

// ---- livepatches --------------------------------------------------------------------------------

TEST_F(Conditions, OfLivepatchesMatterToKprobesThatStandIn) {
    const std::string told =
        "a livepatch was applied: where a kprobe stands in for a djprobe, hits "
        "of the functions that it replaces are missed\n";
    ASSERT_EQ(test_livepatch_init(), 0);
    auto& site = test_condition_sites[3];
    const auto patched = [] {
        test_livepatch_watch();
        test_livepatch_module(true, true);
        test_livepatch_ignore();
        return log();
    };
    EXPECT_EQ(patched(), "");
    site = {.mechanism = DJS_MECHANISM_KPROBE,
            .fallback = DJS_FALLBACK_BUSY,
            .absent = false,
            .disarmed = false,
            .armed = true,
            .next = 0,
            .wanted = false};
    EXPECT_EQ(patched(), told);
    test_livepatch_module(true, true); // that is over
    EXPECT_EQ(log(), "");
    test_livepatch_watch();
    test_livepatch_module(false, true); // it is applied when it is there
    test_livepatch_module(true, false);
    EXPECT_EQ(log(), "");
    test_livepatch_ignore();
    site.armed = false;
    EXPECT_EQ(patched(), "");
    site.armed = true;
    site.fallback = DJS_FALLBACK_NONE;
    EXPECT_EQ(patched(), "");
    site.fallback = DJS_FALLBACK_BUSY;
    site.mechanism = DJS_MECHANISM_FTRACE;
    EXPECT_EQ(patched(), "");
    site.mechanism = DJS_MECHANISM_KPROBE_INT3;
    EXPECT_EQ(patched(), told);
    EXPECT_EQ(test_livepatch_init(), -EEXIST);
    test_livepatch_exit();
    EXPECT_EQ(patched(), "");
}

} // namespace
