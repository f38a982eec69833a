// SPDX-License-Identifier: GPL-2.0-or-later
// What --runtime=user has instead of the kernel's: a ring that its own thread empties, and timers
// that the session polls.
#include "include/control.h"
#include "include/mechanisms.h"
#include "include/record.h"
#include "include/script.h"
#include "userspace/userspace.h"

#include "../surroundings.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

extern "C" { // access/access.h
long djs_read_user_string(char* out, u64 address, size_t size);
bool djs_is_kernel(u64 address);
void djs_count_lost(u32 size); // record/rings.h
}

namespace {

constexpr u64 ring_bytes = 4096, second_ns = 1'000'000'000;
constexpr u32 record_bytes = 64, records_of_a_ring = ring_bytes / record_bytes;

class Userspace : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(djs_user_init(1), 0); }
    void TearDown() override {
        if (loaded_)
            djs_user_unload();
        loaded_ = false;
        djs_user_exit();
    }
    void load(djs_user_options options = {}) {
        options.ring_bytes = ring_bytes;
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        loaded_ = true;
    }
    // Returns whether there was room for a record.
    bool put() {
        djs_record* record = djs_reserve(&context_, 0, record_bytes);
        if (record)
            djs_commit(&context_, record, record_bytes);
        return record;
    }
    static u64 lost() {
        djs_counts counts{};
        djs_user_counts(&counts);
        return counts.lost_records;
    }

    // In how many of the process's mappings a ring is.
    static size_t mapped_rings() {
        std::ifstream text("/proc/self/maps");
        size_t count = 0;
        for (std::string line; std::getline(text, line);)
            count += line.find("djstap-ring") != std::string::npos;
        return count;
    }

    struct djs_script script_{};
    bool loaded_ = false;

  private:
    djs_ctx context_{};
};

class Timers : public Userspace {
  protected:
    void TearDown() override {
        if (loaded_)
            djs_session_stop();
        Userspace::TearDown();
    }
    // Arms timers with these periods, which vary by so much. Behind them are sites that are none.
    void start(const std::vector<u64>& periods, u64 varies = 0, u32 others = 0) {
        handlers_.clear();
        sites_.clear();
        for (u64 period : periods) {
            djs_handler handler{};
            handler.kind = DJS_HANDLER_TIMER;
            handler.arguments[DJS_TIMER_PERIOD_NS] = period;
            handler.arguments[DJS_TIMER_RANDOM_NS] = varies;
            handler.by_regs = [](void*, pt_regs*) {
                runs++;
                return 0;
            };
            djs_site site{};
            site.mechanism = DJS_MECHANISM_TIMER;
            site.handler = static_cast<u32>(handlers_.size());
            handlers_.push_back(handler);
            sites_.push_back(site);
        }
        sites_.resize(sites_.size() + others); // of begin probes, which no mechanism reaches
        script_.handlers = handlers_.data();
        script_.sites = sites_.data();
        script_.handler_count = static_cast<u32>(handlers_.size());
        script_.site_count = static_cast<u32>(sites_.size());
        load();
        ASSERT_EQ(djs_session_start(), 0);
    }
    static u64 now() {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<u64>(time.tv_sec) * second_ns + static_cast<u64>(time.tv_nsec);
    }

    static inline unsigned runs; // of handlers

  private:
    std::vector<djs_handler> handlers_;
    std::vector<djs_site> sites_;
};

} // namespace

TEST_F(Userspace, WhatAFullRingHasNoRoomForIsCountedAndNotWritten) {
    load();
    for (u32 i = 0; i < records_of_a_ring; i++)
        ASSERT_TRUE(put()) << i;
    EXPECT_EQ(lost(), 0u);
    EXPECT_FALSE(put());
    EXPECT_FALSE(put());
    EXPECT_EQ(lost(), 2u);
    u64 *tail, bytes;
    char* data;
    djs_user_ring(0, &tail, &data, &bytes);
    *tail += record_bytes;
    EXPECT_TRUE(put());
    EXPECT_FALSE(put());
    EXPECT_EQ(lost(), 3u);
}

TEST_F(Userspace, AFullRingIsEmptiedByItsOwnThread) {
    int drained = 0;
    djs_user_options options{};
    options.data = &drained;
    options.drain = [](void* count) {
        ++*static_cast<int*>(count);
        u64 *tail, bytes;
        char* data;
        djs_user_ring(0, &tail, &data, &bytes);
        *tail += bytes;
    };
    load(options);
    for (u32 i = 0; i < 3 * records_of_a_ring; i++)
        ASSERT_TRUE(put()) << i;
    EXPECT_EQ(drained, 2);
    EXPECT_EQ(lost(), 0u);
}

TEST_F(Userspace, MoreSkippedHitsThanMaxskippedEndTheSession) {
    alignas(DJS_LOCK_BYTES) char locks[DJS_LOCK_BYTES]{};
    script_.lock_count = 1;
    script_.locks = reinterpret_cast<djs_lock*>(locks);
    script_.max_trylock = 1;
    script_.max_skipped = 1;
    load();
    const djs_lock_use writes{0, 1};
    djs_handler handler{};
    handler.locks = &writes;
    handler.lock_count = 1;
    ASSERT_TRUE(djs_lock_enter(&handler));
    for (u64 skipped = 1; skipped <= 3; skipped++) {
        EXPECT_FALSE(djs_lock_enter(&handler));
        djs_counts counts{};
        djs_user_counts(&counts);
        EXPECT_EQ(counts.skipped_locked, skipped);
        EXPECT_EQ(djs_user_exit_requested(), skipped > 1);
        EXPECT_EQ(djs_user_failed(), skipped > 1);
    }
    djs_lock_leave(&handler, 1);
    // Another session counts from the beginning.
    TearDown();
    SetUp();
    load();
    ASSERT_TRUE(djs_lock_enter(&handler));
    EXPECT_FALSE(djs_lock_enter(&handler));
    EXPECT_FALSE(djs_user_exit_requested());
    djs_lock_leave(&handler, 1);
}

TEST_F(Timers, TheNextIsTheEarliest) {
    std::vector<u64> periods{100 * second_ns, 200 * second_ns, 300 * second_ns};
    do {
        const u64 before = now();
        start(periods);
        EXPECT_GE(djs_user_next_timer(), before + 100 * second_ns);
        EXPECT_LE(djs_user_next_timer(), now() + 100 * second_ns);
        djs_session_stop();
        EXPECT_EQ(djs_user_next_timer(), UINT64_MAX);
        TearDown();
        SetUp();
    } while (std::next_permutation(periods.begin(), periods.end()));
}

TEST_F(Userspace, KnowsWhereTheKernelIs) {
    load();
    EXPECT_TRUE(djs_is_kernel(0xffff800000000000));
    EXPECT_FALSE(djs_is_kernel(0xffff7fffffffffff));
    EXPECT_FALSE(djs_is_kernel(reinterpret_cast<u64>(&script_)));
}

TEST_F(Userspace, HasAsManyCpusAsThereMayBe) {
    TearDown();
    EXPECT_EQ(djs_user_init(0), -ENOMEM);
    EXPECT_EQ(djs_user_init(DJS_USER_CPUS_MAX + 1), -ENOMEM);
    ASSERT_EQ(djs_user_init(DJS_USER_CPUS_MAX), 0);
    load();
}

// Of each CPU's memory, behind the counters.
TEST_F(Userspace, PerCpuMemoryIsUsedUp) {
    constexpr u64 all = DJS_USER_PERCPU_BYTES - DJS_USER_COUNTERS * sizeof(s64);
    char* const counters = static_cast<char*>(djs_user_symbol("djs_counters"));
    EXPECT_EQ(djs_user_percpu_alloc(all + 1), nullptr);
    EXPECT_EQ(djs_user_percpu_alloc(1), counters + DJS_USER_COUNTERS * sizeof(s64));
    EXPECT_EQ(djs_user_percpu_alloc(64), counters + DJS_USER_COUNTERS * sizeof(s64) + 64);
    EXPECT_EQ(djs_user_percpu_alloc(all - 127), nullptr);
    EXPECT_NE(djs_user_percpu_alloc(all - 128), nullptr);
    EXPECT_EQ(djs_user_percpu_alloc(1), nullptr);
}

TEST_F(Userspace, LeavesNothing) {
    TearDown();
    ASSERT_EQ(djs_user_init(2), 0);
    load();
    EXPECT_EQ(mapped_rings(), 4U); // each CPU's, and the second one of its data
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        EXPECT_EQ(std::filesystem::read_symlink(each.path(), gone).string().find("djstap-ring"),
                  std::string::npos);
    }
    void* const areas = djs_user_symbol("djs_counters");
    unsigned char there[1];
    EXPECT_EQ(mincore(areas, 4096, there), 0);
    TearDown();
    EXPECT_EQ(mapped_rings(), 0U);
    EXPECT_EQ(mincore(areas, 4096, there), -1);
    ASSERT_EQ(djs_user_init(1), 0);
}

// Neither its file, nor twice its size in the addresses of a process.
TEST_F(Userspace, MayHaveNoRings) {
    const auto files = [] {
        using Files = std::filesystem::directory_iterator;
        return std::distance(Files("/proc/self/fd"), Files());
    };
    const auto open_files = files();
    // Sanitizers check members by a file, which there is none for meanwhile.
    const auto refused = [script = &script_](u64 bytes) {
        djs_user_options options{};
        options.ring_bytes = bytes;
        return djs_user_load(script, &options) == -ENOMEM ? djs_user_complaint() : "loaded";
    };
    std::string without_files;
    {
        const djstap::test::Limit none(RLIMIT_NOFILE, 0);
        without_files = refused(ring_bytes);
    }
    EXPECT_EQ(without_files, "djstap: no memory for the record buffers");
    EXPECT_STREQ(refused(u64{1} << 46), "djstap: no memory for the record buffers");
    // What is no whole page cannot be mapped a second time.
    EXPECT_STREQ(refused(ring_bytes + 8), "djstap: no memory for the record buffers");
    EXPECT_EQ(mapped_rings(), 0U);
    EXPECT_EQ(files(), open_files);
    load();
    EXPECT_TRUE(put());
}

TEST_F(Userspace, ForgetsWhatItHasComplainedAbout) {
    djs_user_complain("something %d\nmore", 3);
    EXPECT_STREQ(djs_user_complaint(), "something 3");
    load();
    EXPECT_STREQ(djs_user_complaint(), "");
}

TEST_F(Userspace, CountsWhatIsTooLong) {
    load();
    djs_ctx context{};
    EXPECT_EQ(djs_reserve(&context, 0, 2 * ring_bytes), nullptr);
    djs_counts counts{};
    djs_user_counts(&counts);
    EXPECT_EQ(counts.oversized, 1u);
    EXPECT_EQ(counts.lost_records, 0u);
}

// The counts are those of the session's CPUs, each of them, and of no other.
TEST_F(Userspace, CountsOfEachCpu) {
    TearDown();
    ASSERT_EQ(djs_user_init(2), 0);
    load();
    for (const u32 cpu : {0U, 1U, 2U}) {
        djs_user_be_cpu(cpu);
        for (u32 i = 0; i < 1 + 10 * cpu; i++)
            djs_count_lost(record_bytes);
    }
    djs_user_be_cpu(0);
    EXPECT_EQ(lost(), 12U);
}

// Strings are read in pieces, none of which crosses the end of a page.
TEST_F(Userspace, StringsFillTheirRoom) {
    constexpr size_t page = 4096;
    void* const pages =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    std::memset(pages, 'x', 2 * page);
    for (size_t before = 1; before < 200; before++)
        for (const size_t size : {before + 1, before + 2, before + 3, before + 66}) {
            std::string out(size + 1, '#');
            const u64 address = reinterpret_cast<u64>(pages) + page - before;
            ASSERT_EQ(djs_read_user_string(out.data(), address, size), static_cast<long>(size) - 1);
            ASSERT_EQ(out, std::string(size - 1, 'x') + '\0' + '#') << before;
        }
    munmap(pages, 2 * page);
}

TEST_F(Timers, RunWhenTheyAreDueAndSkipWhatTheyMissed) {
    start({100 * second_ns, 1000 * second_ns});
    const u64 first = djs_user_next_timer();
    const auto runs_at = [](u64 time) {
        runs = 0;
        djs_user_run_due(time);
        return runs;
    };
    EXPECT_EQ(runs_at(first - 1), 0u);
    EXPECT_EQ(runs_at(first), 1u);
    EXPECT_EQ(djs_user_next_timer(), first + 100 * second_ns);
    // The period that ends now is missed, too.
    EXPECT_EQ(runs_at(first + 200 * second_ns), 1u);
    EXPECT_EQ(djs_user_next_timer(), first + 300 * second_ns);
    EXPECT_EQ(runs_at(first + 250 * second_ns), 0u);
    EXPECT_EQ(runs_at(first + 1050 * second_ns), 2u);
    EXPECT_EQ(djs_user_next_timer(), first + 1100 * second_ns);
}

TEST_F(Timers, VaryTheirPeriods) {
    const auto range = [](u32 draws) {
        std::pair<u64, u64> all{UINT64_MAX, 0};
        for (u32 i = 0; i < draws; i++) {
            const u64 due = djs_user_next_timer();
            djs_user_run_due(due);
            const u64 period = djs_user_next_timer() - due;
            all = {std::min(all.first, period), std::max(all.second, period)};
        }
        return all;
    };
    start({1'000'000}, 100'000);
    const auto [least, most] = range(1000);
    EXPECT_GE(least, 900'000u);
    EXPECT_LT(least, 950'000u);
    EXPECT_LE(most, 1'100'000u);
    EXPECT_GT(most, 1'050'000u);
    TearDown();
    SetUp();
    start({1'000'000}, 1); // to either side
    EXPECT_EQ(range(400), std::pair(u64{999'999}, u64{1'000'001}));
    TearDown();
    SetUp();
    // By no more than the period, which is never shorter than 10 us.
    start({20'000}, 1'000'000);
    const auto [shortest, longest] = range(1000);
    EXPECT_EQ(shortest, 10'000u);
    EXPECT_LE(longest, 40'000u);
    EXPECT_GT(longest, 30'000u);
    TearDown();
    SetUp();
    start({1'000'000}); // not at all
    EXPECT_EQ(range(10), std::pair(u64{1'000'000}, u64{1'000'000}));
}

TEST_F(Timers, ThatAreNoneAreLeftOut) {
    start({100 * second_ns, 200 * second_ns});
    djs_session_stop();
    EXPECT_EQ(djs_user_next_timer(), UINT64_MAX);
    runs = 0;
    djs_user_run_due(UINT64_MAX);
    EXPECT_EQ(runs, 0u);
}

TEST_F(Timers, AreTheOnlySitesThatAreDue) {
    const u64 before = now();
    start({100 * second_ns, 200 * second_ns}, 0, 2);
    const u64 first = djs_user_next_timer();
    EXPECT_GE(first, before + 100 * second_ns);
    runs = 0;
    djs_user_run_due(first - 1);
    EXPECT_EQ(runs, 0u);
    djs_user_run_due(first);
    EXPECT_EQ(runs, 1u);
    EXPECT_EQ(djs_user_next_timer(), first + 100 * second_ns);
}
