// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which sites are armed, what stops that, and what becomes of them while ftrace is
// off.
#include "made_up_sites.h"

#include <cerrno>

namespace {

using Arming = ArmingTest;

TEST_F(Arming, AttachesByRowsAndWhatMayCallHandlersAtOnceLast) {
    has(DJS_MECHANISM_UPROBE, DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_KRETPROBE,
        DJS_MECHANISM_TIMER, DJS_MECHANISM_KPROBE, none);
    EXPECT_EQ(armed(), "follow evaluate kprobe.attach(4) watch kretprobe.attach(2) "
                       "tracepoint.attach(1) timer.attach(3) uprobe.attach(0) ");
    for (u32 i = 0; i < 5; i++)
        EXPECT_TRUE(test_arming_sites[i].was_armed) << i;
    EXPECT_FALSE(test_arming_sites[5].was_armed);
    EXPECT_TRUE(test_arming_overload(0, 1)); // from here on, time is measured
}

// Several rows share the operations of kprobes, and are attached together.
TEST_F(Arming, AttachesRowsWithTheSameOperationsOnce) {
    has(DJS_MECHANISM_KPROBE_INT3, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KPROBE_JUMP,
        DJS_MECHANISM_RETURN_DJPROBE);
    EXPECT_EQ(armed(), "follow evaluate enabled? djprobe.attach(13) kprobe.attach(02) watch ");
}

TEST_F(Arming, AttachesWhatIsTheOnlySiteOfTheLastRow) {
    has(DJS_MECHANISM_RETURN_JUMPS);
    EXPECT_EQ(armed(), "follow evaluate watch uprobe.attach(0) ");
}

TEST_F(Arming, AttachesOnlyWhatIsWanted) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_TRACEPOINT);
    test_arming_sites[0].unwanted = true;
    test_arming_sites[1].absent = true;
    EXPECT_EQ(armed(), "follow evaluate watch tracepoint.attach(2) ");
    EXPECT_FALSE(test_arming_sites[0].was_armed);
}

TEST_F(Arming, StopsIfModulesCannotBeFollowed) {
    has(DJS_MECHANISM_TRACEPOINT);
    test_arming_follow_error = -ENOMEM;
    EXPECT_EQ(test_arming_arm(), -ENOMEM);
    EXPECT_EQ(log(), "follow stop ignore unwatch let-go report ");
    EXPECT_FALSE(test_arming_overload(0, 1));
}

TEST_F(Arming, StopsAtTheFirstMechanismThatFails) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KPROBE, DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_TIMER);
    test_arming_sites[2].returned_error = -ENOMEM;
    EXPECT_EQ(test_arming_arm(), -ENOMEM);
    EXPECT_EQ(log(), "follow evaluate enabled? djprobe.attach(0) kprobe.attach(1) watch "
                     "tracepoint.attach() "
                     "stop ignore enabled? timer.disarm() tracepoint.disarm() kprobe.detach(1) "
                     "djprobe.disarm(0) unwatch let-go rude tasks rcu inside report ");
    test_arming_sites[2].returned_error = 0;
    test_arming_sites[0].returned_error = -EBUSY;
    for (auto& site : test_arming_sites)
        site.was_armed = false;
    EXPECT_EQ(test_arming_arm(), -EBUSY);
    EXPECT_EQ(log(),
              "follow evaluate enabled? djprobe.attach() stop ignore unwatch let-go report ");
}

TEST_F(Arming, StopsIfTheLastMechanismFails) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_PERF);
    test_arming_sites[1].returned_error = -EINVAL;
    EXPECT_EQ(test_arming_arm(), -EINVAL);
    EXPECT_EQ(log(), "follow evaluate watch tracepoint.attach(0) perf.attach() "
                     "stop ignore perf.disarm() tracepoint.disarm(0) unwatch let-go "
                     "rude tasks rcu inside report ");
    EXPECT_FALSE(test_arming_overload(0, 1));
}

// A script is of use as long as some of it is probed.
TEST_F(Arming, GoesOnIfSomeSitesFail) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_KPROBE, DJS_MECHANISM_TIMER);
    test_arming_sites[0].attach_error = -ENOENT;
    test_arming_sites[1].attach_error = -EINVAL;
    EXPECT_EQ(armed(),
              "follow evaluate kprobe.attach() watch tracepoint.attach() timer.attach(2) ");
    EXPECT_FALSE(test_arming_sites[1].was_armed);
    EXPECT_TRUE(test_arming_sites[2].was_armed);
}

TEST_F(Arming, StopsIfASiteFailsWhoseMechanismIsForced) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_KPROBE,
        DJS_MECHANISM_TIMER);
    test_arming_sites[0].attach_error = -ENOENT;
    test_arming_sites[2].attach_error = -EINVAL;
    sites_[1].forced = sites_[2].forced = 1;
    EXPECT_EQ(test_arming_arm(), -EINVAL);
    EXPECT_EQ(log(), "follow evaluate kprobe.attach() watch tracepoint.attach(1) "
                     "stop ignore timer.disarm() tracepoint.disarm(1) kprobe.detach() "
                     "unwatch let-go rude tasks rcu inside report ");
}

TEST_F(Arming, StopsIfAllSitesFail) {
    has(DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_KPROBE);
    test_arming_sites[0].attach_error = -ENOENT;
    test_arming_sites[1].attach_error = -EINVAL;
    EXPECT_EQ(test_arming_arm(), -ENOENT); // that of the first one
    log();
    // A begin probe has no site that could fail.
    has(none, DJS_MECHANISM_KPROBE);
    test_arming_sites[0] = {};
    test_arming_sites[1].error = 0;
    EXPECT_EQ(test_arming_arm(), -ENODEV);
}

TEST_F(Arming, RefusesMechanismsOfLaterVersions) {
    has(DJS_MECHANISM_COUNT, DJS_MECHANISM_COUNT - 1, DJS_MECHANISM_COUNT + 1);
    test_arming_unknown = true;
    EXPECT_EQ(armed(), "[0: this runtime does not support its mechanism (-95)] "
                       "[2: this runtime does not support its mechanism (-95)] "
                       "follow evaluate watch uprobe.attach(1) ");
    EXPECT_EQ(test_arming_sites[0].error, -EOPNOTSUPP);
    EXPECT_EQ(test_arming_missed(0), 0U);
    EXPECT_EQ(disarmed(), "stop ignore uprobe.disarm(1) unwatch let-go inside report ");
}

// Begin and end probes are all that such a script has.
TEST_F(Arming, NeedsNoSites) {
    EXPECT_EQ(armed(), "follow evaluate watch ");
    has(none, none);
    EXPECT_EQ(armed(), "follow evaluate watch ");
}

// ---- ftrace -------------------------------------------------------------------------------------

TEST_F(Arming, ReplacesDjprobesByKprobesWhileFtraceIsOff) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE,
        DJS_MECHANISM_KPROBE, DJS_MECHANISM_RETURN_DJPROBE);
    for (auto& site : sites_)
        site.fallback = 5;
    sites_[0].segment = 1;
    sites_[1].forced = 1;
    sites_[2].fallback = DJS_NO_FALLBACK;
    test_arming_enabled = 0;
    test_arming_sites[4].probe = 1;
    EXPECT_EQ(test_arming_arm(), -EPERM);
    const auto log = this->log();
    EXPECT_TRUE(log.starts_with("follow evaluate enabled? "
                                "[1: kernel.ftrace_enabled is 0 (-1)] "
                                "[2: kernel.ftrace_enabled is 0 (-1)] "
                                "[3: kernel.ftrace_enabled is 0 (-1)] "
                                "[5: kernel.ftrace_enabled is 0 (-1)] "
                                "djprobe.attach() ftrace.attach() kprobe.attach(04) watch "))
        << log;
    EXPECT_EQ(test_arming_sites[0].mechanism, static_cast<u32>(DJS_MECHANISM_KPROBE));
    EXPECT_EQ(test_arming_sites[0].fallback, DJS_FALLBACK_FTRACE_OFF);
    EXPECT_EQ(test_arming_sites[0].probe, 0x100U + 5 + 0x200000); // + its segment's bias
    EXPECT_EQ(test_arming_sites[2].mechanism, static_cast<u32>(DJS_MECHANISM_DJPROBE));
    EXPECT_EQ(test_arming_sites[4].probe, 1U);
    EXPECT_EQ(test_arming_sites[4].fallback, DJS_FALLBACK_NONE);
}

TEST_F(Arming, AsksAboutFtraceOnlyIfItIsUsed) {
    has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KRETPROBE);
    test_arming_sites[1].absent = true; // in a module that is not loaded
    test_arming_enabled = 0;
    EXPECT_EQ(armed(), "follow evaluate djprobe.attach() kprobe.attach(0) watch "
                       "kretprobe.attach(2) ");
    EXPECT_EQ(test_arming_sites[1].error, 0);
    // The kernel would base this one on ftrace.
    test_arming_begin();
    has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KRETPROBE);
    test_arming_sites[1].absent = true;
    test_arming_sites[2].at_fentry = true;
    test_arming_enabled = 0;
    EXPECT_EQ(armed(), "follow evaluate enabled? [2: kernel.ftrace_enabled is 0 (-1)] "
                       "djprobe.attach() kprobe.attach(0) watch kretprobe.attach() ");
    EXPECT_EQ(test_arming_sites[1].error, 0);
}

TEST_F(Arming, SaysWhyFtraceCannotBeUsed) {
    const auto with = [&](int enabled) {
        test_arming_begin();
        has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_TIMER);
        test_arming_enabled = enabled;
        return armed();
    };
    const std::string failed = "[0: kernel.ftrace_enabled is 0 (-1)] djprobe.attach() watch "
                               "timer.attach(1) ";
    EXPECT_EQ(with(0), "follow evaluate enabled? " + failed);
    EXPECT_EQ(with(-ENODEV), "follow evaluate enabled? ftrace has disabled itself\n" + failed);
    EXPECT_EQ(with(-EACCES), "follow evaluate enabled? cannot read kernel.ftrace_enabled (error "
                             "-13): is /proc mounted?\n" +
                                 failed);
    EXPECT_EQ(with(1), "follow evaluate enabled? djprobe.attach(0) watch timer.attach(1) ");
}

// ---- kprobes at fentry sites: the kernel must not switch ftrace off
// ------------------------------

TEST_F(Arming, KeepsFtraceForKprobes) {
    has(DJS_MECHANISM_KPROBE);
    test_arming_sites[0].at_fentry = true;
    EXPECT_EQ(armed(), "follow evaluate enabled? keep kprobe.attach(0) watch ");
    test_arming_begin();
    has(DJS_MECHANISM_KPROBE_FTRACE);
    EXPECT_EQ(armed(), "follow evaluate enabled? keep kprobe.attach(0) watch ");
    // Not for those that are absent or have failed.
    test_arming_begin();
    has(DJS_MECHANISM_KPROBE_FTRACE, DJS_MECHANISM_KPROBE_FTRACE, DJS_MECHANISM_TIMER);
    test_arming_sites[0].absent = true;
    test_arming_sites[1].error = -EINVAL;
    EXPECT_EQ(armed(), "follow evaluate enabled? kprobe.attach() watch timer.attach(2) ");
}

// As long as a direct call is there, the kernel refuses to switch ftrace off anyway.
TEST_F(Arming, KeepsFtraceIfDirectCallsMayGo) {
    const std::string kept = "follow evaluate enabled? djprobe.attach(0) keep watch "
                             "kretprobe.attach(1) ";
    const std::string not_kept = "follow evaluate enabled? djprobe.attach(0) watch "
                                 "kretprobe.attach(1) ";
    const auto arms = [&](bool at_fentry) {
        test_arming_begin();
        test_arming_sites[1].at_fentry = at_fentry;
        has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_KRETPROBE);
        return armed();
    };
    EXPECT_EQ(arms(true), not_kept);
    djs_script.overload_percent = 50; // takes a probe out
    EXPECT_EQ(arms(true), kept);
    EXPECT_EQ(arms(false), not_kept); // no other one is concerned
    djs_script.overload_percent = 0;
    djs_script.condition_count = 1;
    EXPECT_EQ(arms(true), kept);
    EXPECT_EQ(arms(false), kept); // the next time it is attached, it may be off
    djs_script.condition_count = 0;
    djs_script.switch_count = 1;
    EXPECT_EQ(arms(true), kept);
    EXPECT_EQ(arms(false), not_kept);
    djs_script.switch_count = 0;
    images_[1].kind = DJS_IMAGE_MODULE;
    EXPECT_EQ(arms(true), kept);
    EXPECT_EQ(arms(false), not_kept);
}

TEST_F(Arming, KeepsFtraceIfNoDirectCallIsThere) {
    has(DJS_MECHANISM_DJPROBE, DJS_MECHANISM_TIMER);
    test_arming_sites[0].unwanted = true;
    EXPECT_EQ(armed(), "follow evaluate enabled? djprobe.attach() keep watch timer.attach(1) ");
}

TEST_F(Arming, GoesOnWithoutFtraceIfItIsOffMeanwhile) {
    const auto with = [&](int error) {
        test_arming_begin();
        has(DJS_MECHANISM_KPROBE, DJS_MECHANISM_KPROBE);
        test_arming_sites[1].at_fentry = true;
        test_arming_keep_error = error;
        return armed();
    };
    EXPECT_EQ(with(-EBUSY), "follow evaluate enabled? keep [1: kernel.ftrace_enabled is 0 (-1)] "
                            "kprobe.attach(0) watch ");
    EXPECT_EQ(with(-ENOMEM), "follow evaluate enabled? keep kprobe.attach(01) watch ");
    EXPECT_EQ(with(EBUSY), "follow evaluate enabled? keep kprobe.attach(01) watch ");
}

} // namespace
