// SPDX-License-Identifier: GPL-2.0-or-later
// How sites are disarmed: at the end, when conditions change, when modules are unloaded, and when a
// probe takes too much time.
#include "made_up_sites.h"

#include <cerrno>

namespace {

using Disarming = ArmingTest;

// ---- at the end ---------------------------------------------------------------------------------

TEST_F(Disarming, DetachesInReverseOrder) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KPROBE, DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_UPROBE,
        DJS_MECHANISM_KPROBE_INT3, none);
    were_armed({0, 1, 2, 3, 4});
    EXPECT_EQ(disarmed(), "stop ignore enabled? uprobe.disarm(3) tracepoint.disarm(2) "
                          "kprobe.detach(14) djprobe.disarm(0) unwatch let-go rude tasks rcu "
                          "inside report ");
    for (const auto& site : test_arming_sites) {
        EXPECT_FALSE(site.wanted);
        EXPECT_FALSE(site.armed);
    }
}

// Each wait takes a while.
TEST_F(Disarming, DoesNotWaitIfNothingWasArmed) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_DJPROBE);
    EXPECT_EQ(disarmed(), "stop ignore unwatch let-go report ");
}

TEST_F(Disarming, DoesNotWaitAgainForWhatMechanismsHaveWaitedFor) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_FTRACE, DJS_MECHANISM_UPROBE,
        DJS_MECHANISM_PROCESS);
    were_armed({1, 2, 3});
    EXPECT_EQ(disarmed(), "stop ignore enabled? process.detach(3) uprobe.disarm(2) "
                          "tracepoint.disarm() ftrace.disarm(1) unwatch let-go inside report ");
    // But for those that have been disarmed by a condition.
    test_arming_sites[0].was_armed = true;
    EXPECT_EQ(disarmed(), "stop ignore process.detach() uprobe.disarm() tracepoint.disarm() "
                          "ftrace.disarm() unwatch let-go rude tasks rcu inside report ");
}

// Mechanisms arm some sites later than the others.
TEST_F(Disarming, ConcernsWhatWasArmedInTheMeantime) {
    has(DJS_MECHANISM_PERF);
    test_arming_sites[0].armed = true;
    EXPECT_EQ(disarmed(),
              "stop ignore perf.disarm(0) unwatch let-go rude tasks rcu inside report ");
    EXPECT_TRUE(test_arming_sites[0].was_armed);
}

TEST_F(Disarming, SwitchesFtraceOnMeanwhile) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_TIMER);
    were_armed({0});
    test_arming_enabled = 0;
    const std::string warned = "djstap: kernel.ftrace_enabled was set to 0 in the meantime; it is "
                               "set to 1 while the probes are detached\n";
    EXPECT_EQ(disarmed(), "stop ignore enabled? enable(1) " + warned +
                              "timer.disarm() djprobe.disarm(0) unwatch let-go enable(0) inside "
                              "report ");
    // It cannot be switched on: it is not switched off either.
    were_armed({0});
    test_arming_enable_error = -EPERM;
    EXPECT_EQ(disarmed(), "stop ignore enabled? enable(1) timer.disarm() djprobe.disarm(0) "
                          "unwatch let-go inside report ");
    // It has gone for good.
    were_armed({0});
    test_arming_enabled = -ENODEV;
    EXPECT_EQ(disarmed(), "stop ignore enabled? timer.disarm() djprobe.disarm(0) unwatch let-go "
                          "inside report ");
    EXPECT_TRUE(test_arming_ftrace_dead);
    // Not even asked about: nothing that uses it is armed.
    test_arming_sites[0].was_armed = true;
    test_arming_ftrace_dead = false;
    were_armed({1});
    EXPECT_EQ(disarmed(), "stop ignore timer.disarm(1) djprobe.disarm() unwatch let-go rude "
                          "tasks rcu inside report ");
}

TEST_F(Disarming, OfWhatStaysAttachedWaitsForHandlers) {
    has(DJS_MECHANISM_DJPROBE);
    were_armed({0});
    test_arming_pinned = test_arming_sites[0].stays = true;
    EXPECT_EQ(disarmed(), "stop ignore enabled? djprobe.disarm(0) unwatch let-go rude tasks rcu "
                          "report ");
    EXPECT_FALSE(test_arming_sites[0].armed);
}

TEST_F(Disarming, PinsTheModuleIfFtraceIsKept) {
    has(DJS_MECHANISM_KPROBE);
    test_arming_let_go_error = -ENOMEM;
    EXPECT_EQ(disarmed(), "stop ignore unwatch let-go pin(1, -12) report ");
    were_armed({0});
    EXPECT_EQ(disarmed(), "stop ignore kprobe.detach(0) unwatch let-go pin(1, -12) rude tasks "
                          "rcu inside report ");
}

// ---- when conditions have changed ---------------------------------------------------------------

TEST_F(Disarming, MakesRoomForWhatIsArmedThen) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_TIMER, DJS_MECHANISM_TRACEPOINT,
        DJS_MECHANISM_DJPROBE);
    were_armed({0, 1});
    test_arming_sites[0].unwanted = test_arming_sites[1].unwanted = true;
    EXPECT_EQ(rearmed(), "evaluate enabled? timer.disarm(1) tracepoint.disarm() djprobe.disarm(0) "
                         "djprobe.attach(3) watch tracepoint.attach(2) timer.attach() ");
    EXPECT_TRUE(test_arming_sites[2].was_armed);
    EXPECT_TRUE(test_arming_sites[3].was_armed);
    EXPECT_FALSE(test_arming_ftrace_dead);
}

// What ftrace has is left as it is; handlers look at the condition, too.
TEST_F(Disarming, IsLeftUntilFtraceIsOnAgain) {
    for (const int enabled : {0, -ENODEV, -EACCES}) {
        test_arming_begin();
        has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_TRACEPOINT,
            DJS_MECHANISM_DJPROBE);
        were_armed({0, 2});
        test_arming_sites[0].unwanted = test_arming_sites[2].unwanted = true;
        test_arming_enabled = enabled;
        test_arming_sites[3].absent = true;
        EXPECT_EQ(rearmed(), "evaluate enabled? tracepoint.disarm(2) djprobe.disarm() "
                             "djprobe.attach() watch tracepoint.attach() ");
        EXPECT_TRUE(test_arming_sites[0].wanted);
        EXPECT_FALSE(test_arming_sites[1].wanted);
        EXPECT_EQ(test_arming_ftrace_dead, enabled == -ENODEV);
    }
}

// Its module is unloaded while ftrace is off: nothing of it may stay.
TEST_F(Disarming, OfAbsentSitesDoesNotWaitForFtrace) {
    has(DJS_MECHANISM_DJPROBE);
    were_armed({0});
    test_arming_sites[0].absent = true;
    test_arming_enabled = 0;
    EXPECT_EQ(rearmed(), "evaluate enabled? djprobe.disarm(0) djprobe.attach() watch ");
}

TEST_F(Disarming, SaysIfSitesCannotBeArmedAgain) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_TIMER);
    test_arming_sites[0].returned_error = -ENOMEM;
    EXPECT_EQ(rearmed(), "evaluate enabled? timer.disarm() tracepoint.disarm() watch "
                         "tracepoint.attach() not all probes could be armed (error -12)\n");
    test_arming_sites[0].returned_error = 0;
    test_arming_sites[1].returned_error = -EINVAL;
    EXPECT_EQ(rearmed(), "evaluate enabled? timer.disarm() tracepoint.disarm() watch "
                         "tracepoint.attach(0) timer.attach() not all probes could be armed "
                         "(error -22)\n");
    EXPECT_TRUE(test_arming_sites[0].was_armed);
}

// ---- when a module is unloaded -----------------------------------------------------------------

TEST_F(Disarming, OfAModuleForgetsItsSites) {
    has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_KRETPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KPROBE);
    were_armed({0, 1, 2, 3});
    for (const u32 i : {0, 1, 2}) {
        test_arming_sites[i].image = 1;
        test_arming_sites[i].wanted = false;
    }
    test_arming_enabled = -ENODEV;
    test_arming_forget(1);
    EXPECT_EQ(log(), "enabled? kretprobe.forget(1) kprobe.forget(0) djprobe.disarm(2) ");
    EXPECT_TRUE(test_arming_sites[3].armed);
    EXPECT_TRUE(test_arming_ftrace_dead);
}

// ---- a probe that takes too much time
// ------------------------------------------------------------

class TakingOut : public ArmingTest {
  protected:
    // Four sites, of which the handler 1 has two, and so has the trampoline 0.
    void SetUp() override {
        ArmingTest::SetUp();
        has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_DJPROBE, none,
            DJS_MECHANISM_DJPROBE);
        djs_script.handler_count = 3;
        sites_[0].handler = sites_[1].handler = 1;
        sites_[2].handler = sites_[3].handler = 0;
        sites_[4].handler = 2;
        sites_[4].trampoline = 1; // the others have 0, as has what is no direct call
        test_arming_arm();
        log();
    }
    static std::string taken_out(u32 owner) {
        EXPECT_TRUE(test_arming_overload(owner, 77));
        return log();
    }
    static std::string armed_now() {
        std::string numbers;
        for (u32 i = 0; i < djs_script.site_count; i++)
            if (test_arming_sites[i].armed)
                numbers += std::to_string(i);
        return numbers;
    }
};

TEST_F(TakingOut, DisarmsTheSitesOfAHandler) {
    ASSERT_EQ(armed_now(), "0124");
    handlers_[1].written = "kernel.function(\"x\")";
    EXPECT_EQ(taken_out(1), "evaluate enabled? kprobe.disarm(0) djprobe.disarm(1) djprobe.attach() "
                            "kprobe.attach() watch kernel.function(\"x\") used 77 % of a CPU: 2 of "
                            "4 sites are disarmed; -D STP_NO_OVERLOAD keeps them armed\n");
    EXPECT_EQ(armed_now(), "24");
    EXPECT_EQ(taken_out(1), ""); // nothing is left of it
}

TEST_F(TakingOut, DisarmsTheSitesOfATrampoline) {
    EXPECT_EQ(taken_out(3 + 0), "evaluate enabled? kprobe.disarm() djprobe.disarm(12) "
                                "djprobe.attach() kprobe.attach() watch site 1 used 77 % of a CPU: "
                                "2 of 4 sites are disarmed; -D STP_NO_OVERLOAD keeps them armed\n");
    EXPECT_EQ(armed_now(), "04");
}

TEST_F(TakingOut, OfOneSiteSaysSo) {
    EXPECT_EQ(taken_out(2), "evaluate enabled? kprobe.disarm() djprobe.disarm(4) djprobe.attach() "
                            "kprobe.attach() watch site 4 used 77 % of a CPU: 1 of 4 sites is "
                            "disarmed; -D STP_NO_OVERLOAD keeps it armed\n");
    // The first handler is one, not a trampoline's number.
    EXPECT_EQ(taken_out(0), "evaluate enabled? kprobe.disarm() djprobe.disarm(2) djprobe.attach() "
                            "kprobe.attach() watch site 2 used 77 % of a CPU: 1 of 4 sites is "
                            "disarmed; -D STP_NO_OVERLOAD keeps it armed\n");
    EXPECT_EQ(armed_now(), "01");
}

TEST_F(TakingOut, ConcernsWhatSharesTheSameOps) {
    test_arming_sites[2].shares = test_arming_sites[4].shares = true;
    EXPECT_EQ(taken_out(3 + 1), "evaluate enabled? kprobe.disarm() djprobe.disarm(24) "
                                "djprobe.attach() kprobe.attach() watch site 4 used 77 % of a CPU: "
                                "2 of 4 sites are disarmed; -D STP_NO_OVERLOAD keeps them armed\n");
    EXPECT_EQ(armed_now(), "01");
}

TEST_F(TakingOut, IsOverWithTheSession) {
    test_arming_followed = false; // it is being disarmed
    EXPECT_EQ(taken_out(1), "");
    EXPECT_EQ(armed_now(), "0124");
    test_arming_followed = true;
    EXPECT_EQ(taken_out(3 + 2), ""); // nobody has it
    test_arming_sites[0].armed = test_arming_sites[1].armed = false;
    EXPECT_EQ(taken_out(1), "");
    EXPECT_FALSE(test_arming_sites[0].disarmed);
}

// ---- the rest
// ------------------------------------------------------------------------------------

TEST_F(Disarming, CountsWhatKprobesMissed) {
    has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_DJPROBE);
    test_arming_sites[0].missed = test_arming_sites[1].missed = 5;
    test_arming_sites[0].probe = test_arming_sites[1].probe = 7; // what the mechanism says
    EXPECT_EQ(test_arming_missed(0), 5U);                        // it is no longer there
    test_arming_sites[0].has_data = test_arming_sites[1].has_data = true;
    EXPECT_EQ(test_arming_missed(0), 12U);
    EXPECT_EQ(test_arming_missed(1), 5U);
}

TEST_F(Disarming, BeginsWithWhatIsToldOfEvents) {
    EXPECT_EQ(test_arming_init(), 0);
    EXPECT_EQ(log(), "sites modules livepatch ");
    test_arming_handlers_run();
    EXPECT_EQ(log(), "process.begin ");
    test_arming_exit();
    const std::string freed = "livepatch.exit modules.exit process.free uprobe.free "
                              "tracepoint.free kretprobe.free kprobe.free sites.exit ";
    EXPECT_EQ(log(), freed);
    test_arming_livepatch_error = -EEXIST;
    EXPECT_EQ(test_arming_init(), -EEXIST);
    EXPECT_EQ(log(), "sites modules livepatch " + freed);
    test_arming_modules_error = -ENOMEM;
    EXPECT_EQ(test_arming_init(), -ENOMEM);
    EXPECT_EQ(log(), "sites modules " + freed);
    test_arming_sites_error = -ENOEXEC;
    EXPECT_EQ(test_arming_init(), -ENOEXEC);
    EXPECT_EQ(log(), "sites ");
}

} // namespace
