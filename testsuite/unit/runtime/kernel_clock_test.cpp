// SPDX-License-Identifier: GPL-2.0-or-later
// When handlers may read the kernel's clock themselves: its structure is no interface, so what they
// would compute is compared with what the kernel returns, eight times for each of two clocks.
#include "kernel_clock_for_test.h"

#include <gtest/gtest.h>

namespace {

class KernelClock : public testing::Test {
  protected:
    void SetUp() override {
        test_clock_begin();
        djs_script.fast_clock = test_clock_linked_address();
        // The latch is odd: the second copy counts. Each cycle takes 5/8 ns.
        test_clock_sequence = 7;
        test_clock_bases[1] = {.cycle_last = 1'000'000,
                               .mult = 5,
                               .shift = 3,
                               .xtime_nsec = 6,
                               .base = 40'000,
                               .base_real = 1'700'000'000'000'000'000};
        test_clock_cycles = 1'000'003;
        test_clock_kernel = kernel;
        attempts = 0;
    }
    void TearDown() override { djs_script = {}; }

    // What kernel/time/timekeeping.c does; some time passes meanwhile.
    static u64 kernel(int which) {
        const auto& base = test_clock_bases[test_clock_sequence & 1];
        const u64 ns =
            ((test_clock_cycles++ - base.cycle_last) * base.mult + base.xtime_nsec) >> base.shift;
        return which == TEST_CLOCK_REAL ? base.base_real + ns : static_cast<u64>(base.base) + ns;
    }
    // The same, as much too late or too early.
    static u64 shifted(int which) {
        return kernel(which) + static_cast<u64>(which == shifted_clock ? shift : 0);
    }
    static bool accepts(int clock, s64 by) {
        test_clock_begin();
        test_clock_sequence = 7;
        test_clock_cycles = 1'000'100;
        test_clock_bases[1].cycle_last = 1'000'000;
        test_clock_bases[1].mult = 1; // each cycle takes a nanosecond
        test_clock_kernel = shifted;
        shifted_clock = clock;
        shift = by;
        return test_clock_init();
    }
    // The clock is updated during the first attempts, so that they do not count.
    static bool accepts_after(int updates) {
        test_clock_begin();
        test_clock_bases[0] = test_clock_bases[1] = {.cycle_last = 1'000'000,
                                                     .mult = 1,
                                                     .shift = 0,
                                                     .xtime_nsec = 0,
                                                     .base = 0,
                                                     .base_real = 0};
        attempts = updates;
        test_clock_checks = [] {
            if (attempts-- > 0)
                test_clock_sequence++;
        };
        return test_clock_init();
    }

    static inline int shifted_clock, attempts;
    static inline s64 shift;
};

TEST_F(KernelClock, IsReadIfItIsWhatTheKernelReturns) {
    EXPECT_TRUE(test_clock_init());
    EXPECT_TRUE(test_clock_is_right());
    EXPECT_EQ(test_clock_limit(), 0x7fffffffULL); // times a multiplier of 32 bits: less than 2^63
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 16U);
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_MONOTONIC], 16U);
}

TEST_F(KernelClock, IsReadFromTheCopyThatIsNotBeingUpdated) {
    test_clock_bases[0] = test_clock_bases[1];
    test_clock_bases[1].base_real++;
    test_clock_sequence = 8;
    EXPECT_TRUE(test_clock_init());
}

TEST_F(KernelClock, IsNotReadWhereItIsNotKnown) {
    djs_script.fast_clock = 0;
    EXPECT_FALSE(test_clock_init());
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 0U);
}

// What is computed lies between what the kernel returned before and after: each step is 1 ns.
TEST_F(KernelClock, IsNotReadIfItDiffers) {
    for (const int clock : {TEST_CLOCK_REAL, TEST_CLOCK_MONOTONIC}) {
        EXPECT_TRUE(accepts(clock, 0));
        EXPECT_TRUE(accepts(clock, 1));
        EXPECT_FALSE(accepts(clock, 2));
        EXPECT_EQ(test_clock_asked[clock], 2U); // that is enough
        EXPECT_TRUE(accepts(clock, 0));
        EXPECT_FALSE(accepts(clock, -1));
        EXPECT_EQ(test_clock_asked[clock], 2U);
    }
    EXPECT_FALSE(accepts(TEST_CLOCK_REAL, 2));
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_MONOTONIC], 0U);
}

TEST_F(KernelClock, IsComparedAgainIfItWasUpdated) {
    EXPECT_TRUE(accepts_after(0));
    EXPECT_TRUE(accepts_after(56));
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 128U); // 64 attempts
    EXPECT_FALSE(accepts_after(57));
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 128U);
}

TEST_F(KernelClock, IsComparedAgainIfTheWallClockWasSet) {
    test_clock_kernel = [](int which) {
        // Back, between the kernel's answers to the first attempt.
        if (++attempts == 2)
            test_clock_bases[1].base_real -= 1'000'000'000;
        return kernel(which);
    };
    EXPECT_TRUE(test_clock_init());
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 18U);
}

TEST_F(KernelClock, IsReadForSomeTimeAfterAnUpdate) {
    test_clock_kernel = [](int which) {
        const auto ns = kernel(which);
        test_clock_cycles--; // no time passes
        return ns;
    };
    test_clock_cycles = test_clock_bases[1].cycle_last + 0x7fffffff;
    EXPECT_TRUE(test_clock_init());
    test_clock_begin();
    SetUp();
    test_clock_kernel = [](int which) {
        const auto ns = kernel(which);
        test_clock_cycles--;
        return ns;
    };
    test_clock_cycles = test_clock_bases[1].cycle_last + 0x80000000;
    EXPECT_FALSE(test_clock_init());
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 128U);
}

TEST_F(KernelClock, IsReadWithShiftsThatFit) {
    test_clock_bases[1].shift = 32;
    EXPECT_TRUE(test_clock_init());
    test_clock_begin();
    SetUp();
    test_clock_bases[1].shift = 33;
    EXPECT_FALSE(test_clock_init());
}

TEST_F(KernelClock, IsNotReadFromOtherClocksources) {
    test_clock_counts_cycles = false;
    EXPECT_FALSE(test_clock_init());
    EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 0U);
    test_clock_counts_cycles = true;
    // The kernel finds out that it is unstable, after this was looked at.
    test_clock_kernel = [](int which) {
        test_clock_switched = true;
        return kernel(which);
    };
    EXPECT_FALSE(test_clock_init());
}

TEST_F(KernelClock, IsNotReadIfItsMemoryCannotBe) {
    for (const int read : {0, 1}) { // its clocksource
        test_clock_faults_at = read;
        EXPECT_FALSE(test_clock_init()) << read;
        EXPECT_EQ(test_clock_asked[TEST_CLOCK_REAL], 0U) << read;
    }
    for (const int read : {2, 3}) { // itself, and its latch
        test_clock_faults_at = read;
        EXPECT_FALSE(test_clock_init()) << read;
    }
    test_clock_faults_at = -1;
    EXPECT_TRUE(test_clock_init());
}

} // namespace
