// SPDX-License-Identifier: GPL-2.0-or-later
// A counter or a per-CPU statistic is cleared while it is read, once at each instruction of the
// read: the processor traps after every instruction, and the trap's handler acts as another CPU.
#include "globals_for_test.h"
#include "single_step.h"
#include "userspace/userspace.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

class ClearedReads : public testing::Test {
  protected:
    void SetUp() override {
        use_.shape.histogram = DJS_HISTOGRAM_LINEAR;
        use_.shape.low = 0;
        use_.shape.high = 10;
        use_.shape.width = 1;
        use_.shape.buckets = 13;
        use_.shape.bytes = static_cast<u32>(djs_statistic_bytes(&use_.shape));
        script_.statistic_count = 1;
        script_.statistics = &use_;
        script_.counter_count = 1;
        djs_user_options options{};
        options.ring_bytes = 65536;
        ASSERT_EQ(djs_user_init(2), 0);
        counter = static_cast<s64*>(djs_user_symbol("djs_counters"));
        script_.counters = counter;
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        step_.start();
    }
    void TearDown() override {
        step_.stop();
        djs_user_unload();
        djs_user_exit();
    }

    std::vector<s64> words() const { return std::vector<s64>(use_.shape.bytes / sizeof(s64)); }
    static void read_statistic(std::vector<s64>& to) {
        djs_statistic_read(0, reinterpret_cast<djs_statistic*>(to.data()));
    }
    static void record_on_both() {
        djs_statistic_record(0, 3);
        djs_user_be_cpu(1);
        djs_statistic_record(0, 5);
        djs_user_be_cpu(0);
    }

    static s64* counter;

  private:
    djs_statistic_use use_{};
    struct djs_script script_{};
    SingleStep step_;
};
s64* ClearedReads::counter;

// With sanitizers a read has more than a thousand instructions, and only some of them are tried.
int next_of(int at) {
    return at + (at < 300 ? 1 : at / 20);
}

} // namespace

TEST_F(ClearedReads, OfACounterNeverSeeLessThanNothing) {
    int at = 1;
    for (;; at = next_of(at)) {
        djs_counter_clear(0);
        *counter += 100;
        s64 seen = 0;
        const bool cleared = SingleStep::interrupt_after(
            at,
            [] {
                *counter += 5;
                djs_counter_clear(0);
            },
            [&] { seen = djs_counter_read(0); });
        if (!cleared)
            break;
        ASSERT_TRUE(seen == 100 || seen == 0) << seen << " after " << at << " instructions";
    }
    EXPECT_GT(at, 10);
}

// A clear of another CPU, which has counted less when it looked, is faster.
TEST_F(ClearedReads, OfACounterSeeNothingFromBeforeTheClear) {
    static bool other_is_faster;
    other_is_faster = true;
    djs_counter_clear(0);
    *counter += 3; // what the other one counts
    *counter += 1;
    static s64 base;
    base = -1;
    test_before_exchange = [](s64* place) {
        if (other_is_faster) {
            base = *place;
            *place += 3;
        }
        other_is_faster = false;
    };
    djs_counter_clear(0);
    test_before_exchange = nullptr;
    EXPECT_NE(base, -1);
    EXPECT_EQ(djs_counter_read(0), 0);
    *counter += 2;
    EXPECT_EQ(djs_counter_read(0), 2);
}

TEST_F(ClearedReads, OfAStatisticSeeWhatWasThereOrWhatCameThen) {
    std::vector<s64> before = words(), after = words(), seen = words();
    record_on_both();
    read_statistic(before);
    djs_statistic_clear(0);
    djs_statistic_record(0, 7);
    read_statistic(after);
    ASSERT_EQ(before[0], 2);
    ASSERT_EQ(after[0], 1);
    int at = 1;
    for (;; at = next_of(at)) {
        djs_statistic_clear(0);
        record_on_both();
        const bool cleared = SingleStep::interrupt_after(
            at,
            [] {
                djs_statistic_clear(0);
                djs_statistic_record(0, 7);
            },
            [&] { read_statistic(seen); });
        if (!cleared)
            break;
        ASSERT_TRUE(seen == before || seen == after) << "after " << at << " instructions";
    }
    EXPECT_GT(at, 30);
}
