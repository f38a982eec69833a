// SPDX-License-Identifier: GPL-2.0-or-later
// Per-CPU counters and statistics: each CPU adds to its own copy, interrupted at every step, while
// others read and clear them.
#include "threads/records.h"

namespace {

constexpr u32 rounds = 20000;

// Statistic 0: by djs_statistic_record, with everything that can be kept. 1: handlers add with
// inline code. Counter 0: a plain one.
struct Tables {
    Tables() {
        for (auto& statistic : statistics)
            statistic = {};
        statistics[0].shape.histogram = DJS_HISTOGRAM_LINEAR;
        statistics[0].shape.low = 0;
        statistics[0].shape.high = 100;
        statistics[0].shape.width = 10;
        statistics[0].shape.buckets = 13;
        statistics[0].shape.variance = 1;
        statistics[1].shape.histogram = DJS_HISTOGRAM_LOG;
        statistics[1].shape.buckets = DJS_LOG_BUCKETS;
        statistics[1].shape.inline_adds = 1;
        statistics[1].percpu = &inline_copies;
        for (auto& statistic : statistics)
            statistic.shape.bytes = djs_statistic_bytes(&statistic.shape);
        djs_script.statistics = statistics;
        djs_script.statistic_count = 2;
        djs_script.counter_count = 1;
    }
    djs_statistic_use statistics[2];
    void* inline_copies = nullptr;
};

Tables* tables;

struct StatisticSession : Tables {
    explicit StatisticSession(u32 cpus) : session(cpus, 4096) {
        djs_script.counters = static_cast<s64*>(cpus_percpu_alloc(sizeof(s64)));
        tables = this;
        reset_writers();
    }
    Session session;
};

// In the form that djs_statistic_read requires.
struct Result {
    explicit Result(u32 statistic) : words(tables->statistics[statistic].shape.bytes / 8) {
        djs_statistic_read(statistic, get());
    }
    djs_statistic* get() { return reinterpret_cast<djs_statistic*>(words.data()); }
    djs_statistic* operator->() { return get(); }
    std::vector<u64> words;
};

u64 all_written() {
    u64 sum = 0;
    for (const Writer& writer : writers)
        sum += writer.all_kept();
    return sum;
}

s64 value_of(u32 level, u64 turn) {
    return static_cast<s64>(level * 20 + turn % 30);
}

void record_value(u32 level) {
    Writer& writer = writers[cpu_number()];
    djs_statistic_record(0, value_of(level, writer.kept[level]++));
}

void add_value(u32 level) {
    Writer& writer = writers[cpu_number()];
    cpu_add_inline(static_cast<djs_statistic*>(tables->inline_copies),
                   value_of(level, writer.kept[level]++));
}

void count_once(u32 level) {
    cpu_count(djs_script.counters, 1);
    writers[cpu_number()].kept[level]++;
}

void clear_now(u32 level) {
    if (level == LEVEL_NMI)
        djs_statistic_clear(0);
    else
        record_value(level);
}

class Statistics : public testing::TestWithParam<u32> {};

// Computes the result of all CPUs' values, one after the other.
std::vector<u64> expected(u32 statistic) {
    const djs_statistic_shape& shape = tables->statistics[statistic].shape;
    std::vector<u64> words(shape.bytes / 8);
    for (const Writer& writer : writers)
        for (u32 level = 0; level < LEVELS; level++)
            for (u64 turn = 0; turn < writer.kept[level]; turn++)
                djs_statistic_add(&shape, reinterpret_cast<djs_statistic*>(words.data()),
                                  value_of(level, turn));
    return words;
}

} // namespace

TEST_P(Statistics, RecordedValuesAreAllThere) {
    StatisticSession session(GetParam());
    s64 seen = 0;
    run_cpus(
        GetParam(), record_value,
        [](u32) {
            for (u32 i = 0; i < rounds; i++)
                record_value(LEVEL_TASK);
        },
        [&] {
            Result now(0);
            EXPECT_GE(now->count, seen);
            seen = now->count;
            s64 in_buckets = 0;
            for (u32 i = 0; i < 13; i++)
                in_buckets += now->buckets[i];
            EXPECT_GE(in_buckets, now->count);
            EXPECT_GE(now->min, 0);
            EXPECT_LT(now->max, 90);
        });
    Result result(0);
    std::vector<u64> words = expected(0);
    const auto* all = reinterpret_cast<const djs_statistic*>(words.data());
    EXPECT_GT(writers[0].kept[LEVEL_NMI], 0u);
    EXPECT_EQ(result->count, all->count);
    EXPECT_EQ(result->sum, all->sum);
    EXPECT_EQ(result->min, all->min);
    EXPECT_EQ(result->max, all->max);
    for (u32 i = 0; i < 13; i++)
        EXPECT_EQ(result->buckets[i], all->buckets[i]);
}

// A reader that sees a value counted sees all of it.
TEST_P(Statistics, ValuesThatHandlersAddAreAllThere) {
    StatisticSession session(GetParam());
    run_cpus(
        GetParam(), add_value,
        [](u32) {
            for (u32 i = 0; i < rounds; i++)
                add_value(LEVEL_TASK);
        },
        [&] {
            Result now(1);
            s64 in_buckets = 0;
            for (u32 i = 0; i < DJS_LOG_BUCKETS; i++)
                in_buckets += now->buckets[i];
            EXPECT_GE(in_buckets, now->count);
        });
    Result result(1);
    std::vector<u64> words = expected(1);
    const auto* all = reinterpret_cast<const djs_statistic*>(words.data());
    EXPECT_EQ(result->count, all->count);
    EXPECT_EQ(result->sum, all->sum);
    for (u32 i = 0; i < DJS_LOG_BUCKETS; i++)
        EXPECT_EQ(result->buckets[i], all->buckets[i]);
}

// All CPUs clear while all of them record.
TEST_P(Statistics, OneThatIsClearedBeginsAnew) {
    StatisticSession session(GetParam());
    run_cpus(
        GetParam(), clear_now,
        [](u32) {
            for (u32 i = 0; i < rounds; i++) {
                record_value(LEVEL_TASK);
                if (cpu_random() % 16 == 0)
                    djs_statistic_clear(0);
            }
        },
        [&] { EXPECT_LE(static_cast<u64>(Result(0)->count), u64{1} << 32); });
    djs_statistic_clear(0);
    EXPECT_EQ(Result(0)->count, 0);
    djs_statistic_record(0, 7);
    Result result(0);
    EXPECT_EQ(result->count, 1);
    EXPECT_EQ(result->sum, 7);
}

TEST_P(Statistics, CountersAreExact) {
    StatisticSession session(GetParam());
    s64 seen = 0;
    run_cpus(
        GetParam(), count_once,
        [](u32) {
            for (u32 i = 0; i < rounds; i++)
                count_once(LEVEL_TASK);
        },
        [&] {
            const s64 now = djs_counter_read(0);
            EXPECT_GE(now, seen);
            seen = now;
        });
    EXPECT_EQ(static_cast<u64>(djs_counter_read(0)), all_written());
    djs_counter_clear(0);
    EXPECT_EQ(djs_counter_read(0), 0);
}

// ---- clearing that is interrupted by clearing: what was cleared stays cleared

namespace {

bool interrupted;

// Runs only the first time, in the middle of a clear.
void clear_statistic_twice(u32 level) {
    if (interrupted || level == LEVEL_NMI)
        return;
    interrupted = true;
    djs_statistic_clear(0);
    djs_statistic_record(0, 7);
    djs_statistic_clear(0);
}

void count_and_clear(u32 level) {
    if (interrupted || level == LEVEL_NMI)
        return;
    interrupted = true;
    cpu_count(djs_script.counters, 5);
    djs_counter_clear(0);
}

} // namespace

TEST(Clearing, OfAStatisticIsInterruptedByTheSame) {
    StatisticSession session(1);
    for (u32 i = 0; i < 1000; i++) {
        djs_statistic_record(0, 3);
        interrupted = false;
        cpu_be(0, clear_statistic_twice);
        for (u32 skipped = 0; skipped < i; skipped++) // so that it arrives elsewhere each time
            cpu_random();
        djs_statistic_clear(0);
        cpu_be(0, nullptr);
        ASSERT_EQ(Result(0)->count, 0) << i;
    }
}

TEST(Clearing, OfACounterIsInterruptedByTheSame) {
    StatisticSession session(1);
    for (u32 i = 0; i < 1000; i++) {
        cpu_count(djs_script.counters, 3);
        interrupted = false;
        cpu_be(0, count_and_clear);
        for (u32 skipped = 0; skipped < i; skipped++)
            cpu_random();
        djs_counter_clear(0);
        cpu_be(0, nullptr);
        ASSERT_EQ(djs_counter_read(0), 0) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Cpus, Statistics, testing::Values(2u, 4u),
                         testing::PrintToStringParamName());
