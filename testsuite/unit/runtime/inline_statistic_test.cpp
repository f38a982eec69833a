// SPDX-License-Identifier: GPL-2.0-or-later
// Statistics that handlers add to with inline code: what these find, and what is read of it.
#include "include/script.h"
#include "include/statistic.h"
#include "userspace/userspace.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace {

class InlineStatistic : public testing::Test {
  protected:
    void SetUp() override {
        use_.shape.histogram = DJS_HISTOGRAM_LINEAR;
        use_.shape.low = 0;
        use_.shape.high = 10;
        use_.shape.width = 10;
        use_.shape.buckets = 4;
        use_.shape.bytes = djs_statistic_bytes(&use_.shape);
        use_.shape.inline_adds = 1;
        use_.percpu = &copies_;
        script_.statistic_count = 1;
        script_.statistics = &use_;
        djs_user_options options{};
        options.ring_bytes = 65536;
        ASSERT_EQ(djs_user_init(2), 0);
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        ASSERT_NE(copies_, nullptr);
    }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
    }
    djs_statistic& of_cpu(u64 cpu) const {
        return *reinterpret_cast<djs_statistic*>(static_cast<char*>(copies_) +
                                                 cpu * DJS_USER_PERCPU_BYTES);
    }
    // Count, sum, minimum, maximum, two words for the variance, buckets.
    std::vector<s64> read() const {
        std::vector<s64> words(use_.shape.bytes / sizeof(s64), 77);
        djs_statistic_read(0, reinterpret_cast<djs_statistic*>(words.data()));
        return words;
    }

  private:
    void* copies_ = nullptr;
    djs_statistic_use use_{};
    struct djs_script script_{};
};

} // namespace

TEST_F(InlineStatistic, AnyValueIsBeyondTheLimitsOfAnEmptyCopy) {
    for (const u64 cpu : {0u, 1u}) {
        EXPECT_EQ(of_cpu(cpu).count, 0);
        EXPECT_EQ(of_cpu(cpu).sum, 0);
        EXPECT_EQ(of_cpu(cpu).min, INT64_MAX);
        EXPECT_EQ(of_cpu(cpu).max, INT64_MIN);
    }
    EXPECT_EQ(read(), std::vector<s64>(10));
}

TEST_F(InlineStatistic, AllCopiesAreAddedUp) {
    djs_statistic &first = of_cpu(0), &second = of_cpu(1);
    first.count = 2;
    first.sum = 5;
    first.min = 1;
    first.max = 4;
    first.buckets[0] = 7;
    first.buckets[3] = 8;
    EXPECT_EQ(read(), (std::vector<s64>{2, 5, 1, 4, 0, 0, 7, 0, 0, 8}));
    second.count = 1;
    second.sum = -3;
    second.min = second.max = -3;
    second.buckets[0] = 1;
    second.buckets[1] = 2;
    EXPECT_EQ(read(), (std::vector<s64>{3, 2, -3, 4, 0, 0, 8, 2, 0, 8}));
    // A task that changes the CPU in the middle of an addition leaves a sum there, and no count.
    first.count = 0;
    EXPECT_EQ(read(), (std::vector<s64>{1, 2, -3, 4, 0, 0, 8, 2, 0, 8}));
}
