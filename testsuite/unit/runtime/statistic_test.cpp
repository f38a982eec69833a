// SPDX-License-Identifier: GPL-2.0-or-later
#include "include/record.h"
#include "include/statistic.h"

#include "free_memory.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using Statistic = std::unique_ptr<djs_statistic, FreeMemory>;

Statistic make(const djs_statistic_shape& shape, const std::vector<s64>& values = {}) {
    Statistic s(static_cast<djs_statistic*>(std::calloc(1, djs_statistic_bytes(&shape))));
    for (s64 value : values)
        djs_statistic_add(&shape, s.get(), value);
    return s;
}

djs_statistic_shape variance_shape(s32 shift) {
    djs_statistic_shape shape{};
    shape.variance = 1;
    shape.variance_shift = shift;
    return shape;
}

constexpr s64 smallest = std::numeric_limits<s64>::min();
constexpr s64 largest = std::numeric_limits<s64>::max();

} // namespace

TEST(Statistic, CountSumMinMaxAvg) {
    const djs_statistic_shape shape{};
    auto s = make(shape, {5, -3, 10});
    EXPECT_EQ(s->count, 3);
    EXPECT_EQ(s->sum, 12);
    EXPECT_EQ(s->min, -3);
    EXPECT_EQ(s->max, 10);
    EXPECT_EQ(djs_statistic_avg(s.get()), 4);
    EXPECT_EQ(djs_statistic_avg(make(shape, {-3, -4}).get()), -3);
    EXPECT_EQ(djs_statistic_avg(make(shape).get()), 0);
}

// The examples of stap(1).
TEST(Statistic, VarianceAsTheManualHasIt) {
    const auto plain = variance_shape(0), shifted = variance_shape(1);
    EXPECT_EQ(djs_statistic_variance(&plain, make(plain, {1, 2, 3, 4, 5}).get()), 12);
    EXPECT_EQ(djs_statistic_variance(&shifted, make(shifted, {1, 2, 3, 4, 5}).get()), 2);
    EXPECT_EQ(djs_statistic_variance(&plain, make(plain, {7}).get()), 0);
}

// SystemTap's results; without its loss of a remainder, they are 26 and 43.
TEST(Statistic, VarianceLosesTheRemainderThatSystemTapLoses) {
    const auto shape = variance_shape(0);
    EXPECT_EQ(djs_statistic_variance(&shape, make(shape, {8, 7, 0}).get()), 25);
    EXPECT_EQ(djs_statistic_variance(&shape, make(shape, {-8, 7, 0, 1}).get()), 42);
    // Each CPU loses its own, but what is merged loses nothing more: the distances are
    // 49 / 2 * 2 + 125 / 3 * 3, with 3 * 4 * 4 + 4 * 3 * 3 for the means, and 2 * 2 for a third
    // CPU.
    auto first = make(shape);
    djs_statistic_merge(&shape, first.get(), make(shape, {8, 7, 0}).get());
    djs_statistic_merge(&shape, first.get(), make(shape, {-8, 7, 0, 1}).get());
    EXPECT_EQ(djs_statistic_variance(&shape, first.get()), 42);
    djs_statistic_merge(&shape, first.get(), make(shape, {4}).get());
    EXPECT_EQ(djs_statistic_variance(&shape, first.get()), 37);
}

// Two values are the fewest that have a variance, and one has none, on whichever CPU they are.
TEST(Statistic, VarianceOfTwoValues) {
    const auto shape = variance_shape(0);
    EXPECT_EQ(djs_statistic_variance(&shape, make(shape, {1, 3}).get()), 2);
    const auto merged = make(shape);
    djs_statistic_merge(&shape, merged.get(), make(shape, {7}).get());
    EXPECT_EQ(djs_statistic_variance(&shape, merged.get()), 0);
    djs_statistic_merge(&shape, merged.get(), make(shape, {9}).get());
    EXPECT_EQ(djs_statistic_variance(&shape, merged.get()), 2);
}

// A CPU without values has neither a minimum nor a maximum.
TEST(Statistic, MergeOfWhatIsEmptyChangesNothing) {
    const djs_statistic_shape shape{};
    auto merged = make(shape);
    const auto expect = [&](s64 min, s64 max) {
        EXPECT_EQ(merged->min, min);
        EXPECT_EQ(merged->max, max);
    };
    djs_statistic_merge(&shape, merged.get(), make(shape, {7}).get());
    expect(7, 7);
    djs_statistic_merge(&shape, merged.get(), make(shape).get());
    expect(7, 7);
    djs_statistic_merge(&shape, merged.get(), make(shape, {9}).get());
    expect(7, 9);
    djs_statistic_merge(&shape, merged.get(), make(shape, {3}).get());
    expect(3, 9);
    merged = make(shape);
    djs_statistic_merge(&shape, merged.get(), make(shape, {-9}).get());
    expect(-9, -9);
    djs_statistic_merge(&shape, merged.get(), make(shape).get());
    expect(-9, -9);
    EXPECT_EQ(merged->count, 1);
}

TEST(Statistic, EmptyingLeavesWhatFollowsAlone) {
    djs_statistic_shape shape{};
    EXPECT_EQ(djs_statistic_bytes(&shape), sizeof(djs_statistic));
    shape.histogram = DJS_HISTOGRAM_LINEAR;
    shape.buckets = 3;
    const size_t words = sizeof(djs_statistic) / sizeof(s64) + 3;
    ASSERT_EQ(djs_statistic_bytes(&shape), words * sizeof(s64));
    std::vector<s64> memory(words + 1, 5);
    djs_statistic_empty(&shape, reinterpret_cast<djs_statistic*>(memory.data()));
    EXPECT_EQ(memory.back(), 5);
    memory.pop_back();
    EXPECT_EQ(memory, std::vector<s64>(words));
}

TEST(Statistic, ShiftedVarianceIsNearTheTrueOne) {
    const auto shape = variance_shape(10);
    std::mt19937_64 random(1);
    std::vector<s64> values;
    double sum = 0, squares = 0;
    for (int i = 0; i < 1000; i++) {
        values.push_back(static_cast<s64>(random() % 1000));
        sum += static_cast<double>(values.back());
    }
    for (s64 value : values)
        squares +=
            (static_cast<double>(value) - sum / 1000) * (static_cast<double>(value) - sum / 1000);
    const auto all = make(shape, values);
    EXPECT_NEAR(static_cast<double>(djs_statistic_variance(&shape, all.get())), squares / 999,
                squares / 999 / 100);
    auto left = make(shape, {values.begin(), values.begin() + 300});
    djs_statistic_merge(&shape, left.get(),
                        make(shape, {values.begin() + 300, values.end()}).get());
    EXPECT_NEAR(static_cast<double>(djs_statistic_variance(&shape, left.get())), squares / 999,
                squares / 999 / 100);
}

TEST(Statistic, MergeIsTheSameAsAddingAll) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LOG;
    shape.buckets = DJS_LOG_BUCKETS;
    std::mt19937_64 random(5);
    std::vector<s64> values;
    for (int i = 0; i < 300; i++)
        values.push_back(static_cast<s64>(random()) >> (random() % 64));
    const auto all = make(shape, values);
    auto merged = make(shape);
    djs_statistic_merge(&shape, merged.get(), make(shape).get());
    EXPECT_EQ(merged->count, 0);
    for (size_t i = 0; i < values.size(); i += 100)
        djs_statistic_merge(&shape, merged.get(),
                            make(shape, {values.begin() + static_cast<long>(i),
                                         values.begin() + static_cast<long>(i) + 100})
                                .get());
    EXPECT_EQ(std::memcmp(all.get(), merged.get(), djs_statistic_bytes(&shape)), 0);
}

TEST(Statistic, LogBuckets) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LOG;
    shape.buckets = DJS_LOG_BUCKETS;
    const std::vector<std::pair<s64, u32>> cases{
        {0, 64},  {1, 65},  {2, 66},  {3, 66},  {4, 67},        {7, 67},       {8, 68},
        {-1, 63}, {-2, 62}, {-3, 62}, {-4, 61}, {largest, 127}, {smallest, 0}, {-largest, 1}};
    for (auto& [value, bucket] : cases)
        EXPECT_EQ(djs_statistic_bucket(&shape, value), bucket) << value;
}

TEST(Statistic, LinearBuckets) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LINEAR;
    shape.low = -10;
    shape.high = 20;
    shape.width = 10;
    shape.buckets = 6; // below, -10, 0, 10, 20, above
    const std::vector<std::pair<s64, u32>> cases{{-11, 0}, {-10, 1}, {-1, 1},      {0, 2},
                                                 {9, 2},   {10, 3},  {19, 3},      {20, 4},
                                                 {29, 4},  {30, 5},  {largest, 5}, {smallest, 0}};
    for (auto& [value, bucket] : cases)
        EXPECT_EQ(djs_statistic_bucket(&shape, value), bucket) << value;
    shape.low = smallest;
    shape.high = largest;
    shape.width = largest;
    shape.buckets = 5;
    EXPECT_EQ(djs_statistic_bucket(&shape, smallest), 1u);
    EXPECT_EQ(djs_statistic_bucket(&shape, largest), 3u);
    shape.high = smallest + 2;
    shape.width = 1;
    EXPECT_EQ(djs_statistic_bucket(&shape, smallest + 2), 3u);
    EXPECT_EQ(djs_statistic_bucket(&shape, largest - 1), 4u);
    EXPECT_EQ(djs_statistic_bucket(&shape, largest), 4u);
    // Damaged descriptions.
    shape.width = 0;
    EXPECT_EQ(djs_statistic_bucket(&shape, 5), 0u);
    shape.width = 1;
    shape.buckets = 0;
    EXPECT_EQ(djs_statistic_bucket(&shape, 5), 0u);
}

TEST(Statistic, HistogramStoresHeaderAndBuckets) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LINEAR;
    shape.low = 0;
    shape.high = 20;
    shape.width = 10;
    shape.buckets = 5;
    std::vector<s64> memory(sizeof(djs_histogram_header) / sizeof(s64) + shape.buckets, -1);
    auto* header = reinterpret_cast<djs_histogram_header*>(memory.data());
    const s64* buckets = memory.data() + sizeof(*header) / sizeof(s64);
    djs_histogram_store(header, &shape, make(shape, {-5, 15, 16}).get());
    EXPECT_EQ(header->count, 3);
    EXPECT_EQ(header->min, -5);
    EXPECT_EQ(header->width, 10);
    EXPECT_EQ(std::vector<s64>(buckets, buckets + 5), (std::vector<s64>{1, 0, 2, 0, 0}));
    EXPECT_EQ(header->sum, 26);
    EXPECT_EQ(header->max, 16);
    djs_histogram_store(header, &shape, nullptr);
    EXPECT_EQ(header->count, 0);
    EXPECT_EQ(header->sum, 0);
    EXPECT_EQ(header->min, 0);
    EXPECT_EQ(header->max, 0);
    EXPECT_EQ(std::vector<s64>(buckets, buckets + 5), std::vector<s64>(5));
}
