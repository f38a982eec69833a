// SPDX-License-Identifier: GPL-2.0-or-later
// An NMI adds to the very statistic whose update it interrupts, once at each instruction of that
// update: the processor traps after every instruction, and the trap's handler acts as the NMI.
#include "globals_for_test.h"
#include "single_step.h"
#include "userspace/userspace.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

constexpr s64 interrupted_adds = 7, nmi_adds = -3;

void add_in_nmi() {
    test_in_nmi = 1;
    djs_statistic_record(0, nmi_adds);
    test_in_nmi = 0;
}

class StatisticInNmi : public testing::Test {
  protected:
    void SetUp() override {
        use_.shape.variance = 1;
        use_.shape.histogram = DJS_HISTOGRAM_LINEAR;
        use_.shape.low = -10;
        use_.shape.high = 10;
        use_.shape.width = 1;
        use_.shape.buckets = 23;
        use_.shape.bytes = static_cast<u32>(djs_statistic_bytes(&use_.shape));
        script_.statistic_count = 1;
        script_.statistics = &use_;
        djs_user_options options{};
        options.ring_bytes = 65536;
        ASSERT_EQ(djs_user_init(1), 0);
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        step_.start();
    }
    void TearDown() override {
        step_.stop();
        djs_user_unload();
        djs_user_exit();
    }

    // Returns false if the addition has fewer instructions.
    static bool add_with_nmi_after(int instructions) {
        return SingleStep::interrupt_after(instructions, add_in_nmi,
                                           [] { djs_statistic_record(0, interrupted_adds); });
    }

    // Returns all that a reader gets: count, sum, minimum, maximum, the values for the variance,
    // buckets.
    std::vector<s64> read() const {
        std::vector<s64> words(use_.shape.bytes / sizeof(s64));
        djs_statistic_read(0, reinterpret_cast<djs_statistic*>(words.data()));
        return words;
    }
    // The same without an interruption.
    static void add_apart() {
        djs_statistic_record(0, interrupted_adds);
        add_in_nmi();
    }

    djs_statistic_use use_{};
    struct djs_script script_{};
    SingleStep step_;
};

} // namespace

TEST_F(StatisticInNmi, BothValuesAreWholeWhereverItComes) {
    // The first addition after a clear empties its copy, too.
    for (const bool first : {true, false}) {
        // With sanitizers there are more than a thousand instructions, and only some of them are
        // tried.
        int at = 1;
        for (;; at += at < 200 ? 1 : at / 20) {
            djs_statistic_clear(0);
            for (int i = 0; i < (first ? 1 : 2); i++)
                add_apart();
            const std::vector<s64> wanted = read();
            ASSERT_EQ(wanted[0], first ? 2 : 4);
            djs_statistic_clear(0);
            if (!first)
                add_apart();
            if (!add_with_nmi_after(at))
                break;
            ASSERT_EQ(read(), wanted) << "after " << at << " instructions";
        }
        EXPECT_GT(at, 30);
    }
}
