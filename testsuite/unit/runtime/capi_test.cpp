// SPDX-License-Identifier: GPL-2.0-or-later
// djprobes of modules that are written by hand: which calls their handlers see, and what is left
// when the kernel refuses something.
#include "capi_for_test.h"
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <string>
#include <vector>

namespace {

class CInterface : public testing::Test {
  protected:
    void SetUp() override {
        test_capi_begin();
        for (test_djprobe& probe : test_djprobes)
            probe.has_symbol = probe.has_handler = true;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_capi_begin();
        EXPECT_EQ(guarded_count(), 0U);
    }

    static int add(const std::vector<int>& numbers) {
        return test_capi_register(numbers.data(), static_cast<int>(numbers.size()));
    }
    static std::string log() { return taken_log(test_capi_log); }
    static void call_all() {
        for (int i = 0; i < TEST_DJPROBES; i++)
            test_capi_call(i);
    }
    static std::string hits() {
        std::string all;
        for (test_djprobe& probe : test_djprobes) {
            all += std::to_string(probe.hits) + " ";
            probe.hits = 0;
        }
        return all;
    }
    // Nothing has become of the probes, and they can be registered in another way.
    static void expect_nothing_left() {
        EXPECT_EQ(guarded_count(), 0U);
        for (const test_djprobe& probe : test_djprobes)
            EXPECT_FALSE(probe.is_registered);
        log();
    }
};

TEST_F(CInterface, SetsComeAndGo) {
    EXPECT_EQ(add({0, 2}), 0);
    EXPECT_EQ(log(), "locked\ntable locked\nroom beside 0\nno kprobe\nno kprobe\ndirect call of 2\n"
                     "table unlocked\nunlocked\n");
    call_all();
    EXPECT_EQ(hits(), "1 0 1 0 ");
    EXPECT_EQ(add({3}), 0);
    EXPECT_EQ(log(), "locked\ntable locked\nroom beside 2\nno kprobe\ndirect call of 1\ntable "
                     "unlocked\nunlocked\n");
    call_all();
    call_all();
    EXPECT_EQ(hits(), "2 0 2 2 ");
    EXPECT_TRUE(test_capi_unregister(3));
    EXPECT_EQ(log(), "locked\nno direct call\nfilter freed\ndrain\nunlocked\n");
    EXPECT_TRUE(test_djprobes[0].is_registered && test_djprobes[2].is_registered);
    EXPECT_FALSE(test_djprobes[3].is_registered);
    EXPECT_TRUE(test_capi_unregister(3)); // once more: it belongs to none
    EXPECT_EQ(log(), "locked\nunlocked\n");
    EXPECT_EQ(add({1, 3}), 0);
    EXPECT_NE(log().find("room beside 2\n"), std::string::npos);
}

TEST_F(CInterface, AddressesAndLandingPads) {
    test_djprobes[0].begins_with = "pad!";
    test_djprobes[1].begins_with = "seal";
    test_djprobes[1].has_symbol = false;
    test_djprobes[1].has_address = true;
    EXPECT_EQ(add({0, 1, 2}), 0);
    call_all();
    EXPECT_EQ(hits(), "1 1 1 0 ");
    EXPECT_TRUE(test_capi_unregister(1));
    call_all();
    EXPECT_EQ(hits(), "0 0 0 0 ");
    expect_nothing_left();
}

TEST_F(CInterface, CallsOfAHandlerAreMissedAndThoseOfAnInterruptAreNot) {
    EXPECT_EQ(add({0, 1}), 0);
    const u32 levels[] = {0, TEST_SOFTIRQ, TEST_INTERRUPT, TEST_NMI,
                          TEST_NMI | TEST_INTERRUPT | TEST_SOFTIRQ};
    const u32 number_of[] = {0, 1, 2, 3, 3};
    test_handler_calls = 1;
    unsigned long missed = 0;
    for (u32 outer = 0; outer < 5; outer++)
        for (u32 inner = 0; inner < 5; inner++) {
            const bool same = number_of[outer] == number_of[inner];
            test_preempt_count = levels[outer];
            test_handler_level = levels[inner];
            test_processor = inner % 2;
            test_capi_call(0);
            EXPECT_EQ(hits(), same ? "1 0 0 0 " : "1 1 0 0 ") << outer << " " << inner;
            EXPECT_EQ(test_capi_missed(1), missed += same);
            EXPECT_EQ(test_capi_missed(0), 0U);
        }
    test_preempt_count = 0;
    // Bottom halves that are only disabled are no interrupt.
    test_handler_level = 2 * TEST_SOFTIRQ;
    test_capi_call(0);
    EXPECT_EQ(hits(), "1 0 0 0 ");
    EXPECT_TRUE(test_capi_unregister(0));
    EXPECT_EQ(test_capi_missed(1), 0U);
}

TEST_F(CInterface, WhatIsNoProbe) {
    EXPECT_EQ(add({}), -EINVAL);
    EXPECT_EQ(log(), "");
    test_djprobes[1].has_handler = false;
    EXPECT_EQ(add({0, 1}), -EINVAL);
    expect_nothing_left();
    test_djprobes[1].has_handler = true;
    test_djprobes[1].has_symbol = false;
    EXPECT_EQ(add({0, 1}), -EINVAL);
    expect_nothing_left();
    test_djprobes[1].unreadable = true;
    EXPECT_EQ(add({0, 1}), -EFAULT);
    expect_nothing_left();
    test_djprobes[1].has_symbol = true;
    test_djprobes[1].unknown = -ENOENT;
    EXPECT_EQ(add({0, 1}), -ENOENT);
    EXPECT_EQ(log(),
              "locked\ntable locked\nroom beside 0\nno kprobe\ndrain\ntable unlocked\nunlocked\n");
    expect_nothing_left();
    test_djprobes[1].unknown = 0;
    EXPECT_EQ(add({0, 1}), 0);
    call_all();
    EXPECT_EQ(hits(), "1 1 0 0 ");
}

TEST_F(CInterface, WhatIsRegisteredAlready) {
    EXPECT_EQ(add({2, 2}), -EBUSY);
    expect_nothing_left();
    test_djprobes[3].has_symbol = false;
    test_djprobes[3].at_zero = true;
    EXPECT_EQ(add({0, 3}), -EBUSY);
    expect_nothing_left();
    EXPECT_EQ(add({0}), 0);
    const u32 live = guarded_count();
    EXPECT_EQ(add({0}), -EBUSY);
    EXPECT_EQ(add({1, 0}), -EBUSY);
    EXPECT_EQ(add({3}), -EBUSY);
    EXPECT_EQ(guarded_count(), live);
    EXPECT_TRUE(test_djprobes[0].is_registered);
    EXPECT_FALSE(test_djprobes[1].is_registered);
    call_all();
    EXPECT_EQ(hits(), "1 0 0 0 ");
}

TEST_F(CInterface, WhatTheKernelRefuses) {
    test_capi_enabled = 0;
    EXPECT_EQ(add({0, 1}), -EPERM);
    expect_nothing_left();
    test_capi_enabled = -EIO;
    EXPECT_EQ(add({0, 1}), -EPERM);
    expect_nothing_left();
    test_capi_enabled = 1;
    test_direct_room = 1;
    EXPECT_EQ(add({0, 1}), -ENOSPC);
    expect_nothing_left();
    test_direct_room = 2;
    test_filter_fails = -EINVAL;
    EXPECT_EQ(add({0, 1}), -EINVAL);
    EXPECT_EQ(log(),
              "locked\ntable locked\nroom beside 0\nno kprobe\nno kprobe\ndrain\nfilter freed\n"
              "table unlocked\nunlocked\n");
    expect_nothing_left();
    test_filter_fails = 0;
    test_direct_fails = -EBUSY;
    EXPECT_EQ(add({0, 1}), -EBUSY);
    expect_nothing_left();
    test_direct_fails = 0;
    EXPECT_EQ(add({0, 1}), 0);
    EXPECT_NE(log().find("room beside 0\n"), std::string::npos);
}

TEST_F(CInterface, WhatThereIsNoMemoryFor) {
    long allowed = 0;
    for (int error = -ENOMEM; error != 0; allowed++) {
        ASSERT_LT(allowed, 20);
        test_allocations_left = allowed;
        error = add({0, 1});
        test_allocations_left = LONG_MAX;
        EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
        if (error)
            expect_nothing_left();
    }
    EXPECT_EQ(allowed, 5); // the set, the addresses and a count for each
}

TEST_F(CInterface, WhatTheKernelKeepsCalling) {
    EXPECT_EQ(add({0, 1}), 0);
    log();
    test_unregister_fails = -ENODEV;
    EXPECT_TRUE(test_capi_unregister(1));
    EXPECT_EQ(log(), "locked\ndrain\nunlocked\nmodule: its djprobes cannot be detached (error "
                     "-19): it stays loaded until "
                     "the machine is restarted\nreference\n");
    call_all(); // they still get here
    EXPECT_EQ(hits(), "0 0 0 0 ");
    EXPECT_FALSE(test_djprobes[0].is_registered || test_djprobes[1].is_registered);
    EXPECT_EQ(guarded_count(), 1U); // the set, which the kernel refers to
    // Their calls still take room.
    EXPECT_EQ(add({2}), 0);
    EXPECT_NE(log().find("room beside 2\n"), std::string::npos);
}

TEST_F(CInterface, WhatTheKernelSaysItDoesNotCallAndCalls) {
    EXPECT_EQ(add({0}), 0);
    log();
    test_calls_stay = true;
    test_module_is_live = false;
    EXPECT_FALSE(test_capi_unregister(0));
    EXPECT_EQ(log(),
              "locked\ndrain\nunlocked\nmodule: its djprobes cannot be detached (error -19): it "
              "stays loaded until "
              "the machine is restarted\nmodule: its loading or removal will never finish\n");
}

} // namespace
