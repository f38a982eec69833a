// SPDX-License-Identifier: GPL-2.0-or-later
// What is registered with the kernel, enabled, disabled and given back, when the kernel refuses
// some of it, and when modules go and come.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "registered_for_test.h"
#include "userspace/userspace.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <string>

namespace {

class Registered : public testing::Test {
  protected:
    void SetUp() override {
        test_registry_begin(false, false);
        djs_script.site_count = TEST_PROBES;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_registry_end();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    static void want(int count) {
        for (int i = 0; i < count; i++)
            test_probes[i].is_one = test_probes[i].wanted = true;
    }
    static std::string log() { return taken_log(test_registry_log); }
    static std::string attach() {
        EXPECT_EQ(test_registry_attach(), 0);
        return log();
    }
    static std::string disarm() {
        test_registry_disarm();
        return log();
    }
    static std::string detach() {
        test_registry_detach();
        return log();
    }
    static std::string forget(u32 image) {
        test_registry_forget(image);
        return log();
    }
};

TEST_F(Registered, AllOfThemAtOnce) {
    want(2);
    test_probes[3] = test_probes[0];
    EXPECT_EQ(attach(), "register batch 0 1 3\nverify 0\nverify 1\nverify 3\n");
    for (const int i : {0, 1, 3}) {
        EXPECT_TRUE(test_probes[i].armed);
        EXPECT_TRUE(test_probes[i].has_probe);
    }
    EXPECT_FALSE(test_probes[2].armed);
    EXPECT_FALSE(test_probes[2].has_probe);
    EXPECT_EQ(attach(), "");
    EXPECT_EQ(detach(), "disable 0\ndisable 1\ndisable 3\nunregister batch 0 1 3\n");
    EXPECT_FALSE(test_probes[0].armed);
    EXPECT_FALSE(test_probes[3].armed);
}

TEST_F(Registered, TheLastOneFirst) {
    test_registry_begin(true, false);
    want(4);
    test_probes[2].refused = true;
    EXPECT_EQ(attach(), "register batch 3 1 0\nverify 3\nverify 1\nverify 0\n");
    EXPECT_FALSE(test_probes[2].armed);
}

TEST_F(Registered, OneByOneIfOneIsRejected) {
    want(3);
    test_probes[1].rejects = -EINVAL;
    EXPECT_EQ(attach(),
              "register batch 0 1 2\nregister 0\nregister 1\nfailed 1: rejected (-22)\nregister 2\n"
              "verify 0\nverify 2\n");
    EXPECT_TRUE(test_probes[0].armed);
    EXPECT_FALSE(test_probes[1].armed);
    EXPECT_TRUE(test_probes[2].armed);
    EXPECT_EQ(attach(), "");
    EXPECT_EQ(detach(), "disable 0\ndisable 2\nunregister batch 0 2\n");
}

TEST_F(Registered, AfterTheOthersWhatComesLater) {
    want(3);
    test_probes[0].absent = true;
    EXPECT_EQ(attach(), "register batch 1 2\nverify 1\nverify 2\n");
    test_probes[0].absent = false;
    EXPECT_EQ(test_registry_attach(), 0);
    EXPECT_EQ(log(), "register batch 0\nverify 0\n");
    EXPECT_EQ(detach(), "disable 1\ndisable 2\ndisable 0\nunregister batch 1 2 0\n");
}

TEST_F(Registered, DisabledUntilTheyAreWanted) {
    want(2);
    test_probes[1].wanted = false;
    EXPECT_EQ(attach(), "register batch 0 1\nverify 0\n");
    EXPECT_TRUE(test_probes[1].armed);
    test_probes[1].wanted = true;
    EXPECT_EQ(attach(), "enable 1\nverify 1\n");
    test_probes[0].wanted = false;
    EXPECT_EQ(disarm(), "disable 0\n");
    EXPECT_EQ(disarm(), "");
    EXPECT_EQ(attach(), "");
    test_probes[0].wanted = true;
    EXPECT_EQ(attach(), "enable 0\n");
    EXPECT_EQ(detach(), "disable 0\ndisable 1\nunregister batch 0 1\n");
}

TEST_F(Registered, ThoseThatTheKernelDoesNotEnableOrDisableAreNamed) {
    want(1);
    test_probes[0].wanted = false;
    EXPECT_EQ(attach(), "register batch 0\n");
    test_probes[0].wanted = true;
    test_probes[0].cannot_enable = -EINVAL;
    EXPECT_EQ(attach(), "enable 0\n");
    EXPECT_NE(
        std::string(djs_user_complaint()).find("cannot enable the kprobe at a probe (error -22)"),
        std::string::npos)
        << djs_user_complaint();
    test_probes[0].cannot_enable = 0;
    EXPECT_EQ(attach(), "enable 0\nverify 0\n");
    test_probes[0].wanted = false;
    test_probes[0].cannot_disable = -EBUSY;
    EXPECT_EQ(disarm(), "disable 0\n");
    EXPECT_NE(
        std::string(djs_user_complaint()).find("cannot disable the kprobe at a probe (error -16)"),
        std::string::npos)
        << djs_user_complaint();
}

TEST_F(Registered, OfWhichTheKernelKeepsOne) {
    want(3);
    attach();
    test_probes[1].cannot_disable = -EBUSY;
    EXPECT_EQ(detach(), "disable 0\ndisable 1\npinned 1 (-16)\ndisable 2\nunregister batch 0 2\n");
    EXPECT_FALSE(test_probes[1].armed);
}

// Nothing that needs ftrace is tried any more.
TEST_F(Registered, WhenFtraceHasShutItselfDown) {
    want(2);
    test_probes[0].by_ftrace = true;
    attach();
    test_registry_ftrace_dead = true;
    EXPECT_EQ(detach(), "pinned 1 (-19)\ndisable 1\nunregister batch 1\n");
}

TEST_F(Registered, NoneWhereNoneIsPlanned) {
    test_allocations_left = 0;
    EXPECT_EQ(attach(), "");
    EXPECT_EQ(detach(), "");
    test_allocations_left = LONG_MAX;
    want(1);
    for (const long allowed : {0L, 1L}) {
        test_allocations_left = allowed;
        EXPECT_EQ(test_registry_attach(), -ENOMEM);
        test_allocations_left = LONG_MAX;
        EXPECT_EQ(log(), "");
        EXPECT_FALSE(test_probes[0].has_probe);
        test_registry_end();
    }
    EXPECT_EQ(attach(), "register batch 0\nverify 0\n");
}

TEST_F(Registered, NoneIfTheyNeedTooMuchMemory) {
    test_registry_begin(false, true);
    want(2);
    test_probes[0].absent = true;
    EXPECT_EQ(attach(), "memory for 1\nregister batch 1\nverify 1\n");
    test_registry_lacks_memory = true;
    test_probes[0].absent = false;
    EXPECT_EQ(test_registry_attach(), -ENOMEM);
    EXPECT_EQ(log(), "memory for 1\n");
    EXPECT_FALSE(test_probes[0].has_probe);
    EXPECT_TRUE(test_probes[1].has_probe);
    test_registry_lacks_memory = false;
    EXPECT_EQ(attach(), "memory for 1\nregister batch 0\nverify 0\n");
}

TEST_F(Registered, WithRoomForWhatMayBecomeOneIfSitesComeBack) {
    for (const u32 conditions : {0U, 1U}) {
        djs_script.condition_count = conditions;
        test_registry_begin(false, false);
        want(1);
        test_probes[1].may_become_one = true;
        EXPECT_EQ(attach(), "register batch 0\nverify 0\n");
        test_probes[1].is_one = test_probes[1].wanted = true;
        EXPECT_EQ(attach(), conditions ? "register batch 1\nverify 1\n"
                                       : "failed 1: its former probe is still registered (-28)\n");
        test_registry_end();
    }
}

TEST_F(Registered, AreSeenToBeSwitchedOffFromTheStart) {
    want(3);
    test_kprobes_off = true;
    test_probes[0].text = 'b';
    test_probes[1].text = 'j';
    EXPECT_EQ(attach(), "register batch 0 1 2\nverify 0\nverify 1\n"
                        "failed 2: kprobes are switched off (kprobes/enabled in debugfs) (-1)\n");
    EXPECT_EQ(detach(), "disable 0\ndisable 1\ndisable 2\nunregister batch 0 1 2\n");
}

TEST_F(Registered, ByFtraceAreCallsAndTheOthersJumps) {
    want(4);
    test_kprobes_off = true;
    for (const int i : {0, 1, 2})
        test_probes[i].by_ftrace = true;
    test_probes[0].text = 'c';
    test_probes[1].text = 'b';
    test_probes[2].text = 'j';
    test_probes[3].text = 'c';
    EXPECT_EQ(attach(), "register batch 0 1 2 3\nverify 0\nverify 1\n"
                        "failed 2: kprobes are switched off (kprobes/enabled in debugfs) (-1)\n"
                        "failed 3: kprobes are switched off (kprobes/enabled in debugfs) (-1)\n");
}

TEST_F(Registered, AreSeenToHaveBeenSwitchedOffMeanwhile) {
    want(3);
    attach();
    test_probes[1].text = '-';
    EXPECT_EQ(detach(), "disable 0\ndisable 1\ndisable 2\nkprobes were switched off "
                        "(kprobes/enabled in debugfs): 1 probe "
                        "missed hits that nobody counted\nunregister batch 0 1 2\n");
    EXPECT_EQ(detach(), "");
}

TEST_F(Registered, AreCountedOnceThatWereSwitchedOff) {
    want(3);
    test_probes[2].wanted = false; // it was never enabled
    attach();
    test_probes[0].text = test_probes[1].text = '-';
    test_probes[0].wanted = false;
    EXPECT_EQ(disarm(), "disable 0\n");
    test_probes[0].wanted = true;
    EXPECT_EQ(attach(), "enable 0\n");
    test_probes[0].text = '-';
    EXPECT_EQ(detach(), "disable 0\ndisable 1\ndisable 2\nkprobes were switched off "
                        "(kprobes/enabled in debugfs): 2 probes "
                        "missed hits that nobody counted\nunregister batch 0 1 2\n");
}

TEST_F(Registered, AreNotCalledSwitchedOffWhenFtraceIsDead) {
    want(1);
    attach();
    test_probes[0].text = '-';
    test_registry_ftrace_dead = true;
    EXPECT_EQ(detach(), "disable 0\nunregister batch 0\n");
}

TEST_F(Registered, GoWithTheirModuleAndComeBack) {
    want(3);
    test_probes[1].image = test_probes[2].image = 1;
    test_probes[2].wanted = false;
    attach();
    test_probes[0].nested = 1;
    test_probes[1].nested = 20;
    test_probes[1].without_instance = 300;
    EXPECT_EQ(forget(2), "");
    EXPECT_TRUE(test_probes[1].armed);
    EXPECT_EQ(forget(1), "disable 1\nunregister 1\ndisable 2\nunregister 2\n");
    EXPECT_TRUE(test_probes[0].armed);
    for (const int i : {1, 2}) {
        EXPECT_FALSE(test_probes[i].armed);
        EXPECT_FALSE(test_probes[i].has_probe);
    }
    EXPECT_EQ(test_probes[1].missed, 320U);
    u64 nested = 0, without_instance = 0;
    test_registry_missed(&nested, &without_instance);
    EXPECT_EQ(nested, 21U);
    EXPECT_EQ(without_instance, 300U);
    test_probes[1].absent = test_probes[2].absent = true;
    EXPECT_EQ(attach(), "");
    test_probes[1].absent = test_probes[2].absent = false;
    test_probes[1].nested = test_probes[1].without_instance = 0;
    EXPECT_EQ(attach(), "register 1\nregister 2\n");
    EXPECT_TRUE(test_probes[1].armed && test_probes[1].has_probe);
    test_probes[1].nested = 4000;
    test_registry_missed(&nested, &without_instance);
    EXPECT_EQ(nested, 4021U);
    EXPECT_EQ(without_instance, 300U);
    EXPECT_EQ(detach(), "disable 0\ndisable 1\ndisable 2\nunregister batch 0 1 2\n");
}

TEST_F(Registered, ThatTheirModuleLeavesBehindHaveNoRoomToComeBack) {
    want(2);
    test_probes[1].image = 1;
    attach();
    test_probes[1].cannot_disable = -EBUSY;
    EXPECT_EQ(forget(1), "disable 1\npinned 1 (-16)\n");
    EXPECT_FALSE(test_probes[1].armed);
    EXPECT_EQ(attach(), "failed 1: its former probe is still registered (-28)\n");
}

TEST_F(Registered, ThatWereRejectedAreNotGivenBackWithTheirModule) {
    want(2);
    test_probes[1].image = 1;
    test_probes[1].rejects = -EINVAL;
    attach();
    EXPECT_EQ(forget(1), "");
    EXPECT_FALSE(test_probes[1].has_probe);
}

TEST_F(Registered, ARejectionWhenTheModuleIsBack) {
    want(1);
    test_probes[0].image = 1;
    attach();
    forget(1);
    test_probes[0].rejects = -EINVAL;
    EXPECT_EQ(attach(), "register 0\nfailed 0: rejected (-22)\n");
    EXPECT_FALSE(test_probes[0].armed);
}

} // namespace
