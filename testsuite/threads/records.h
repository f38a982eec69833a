// SPDX-License-Identifier: GPL-2.0-or-later
// Writers of records that show whether they are complete and in order, and a checker for them.
#pragma once
#include "threads/cpus.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

struct Session {
    Session(u32 cpus, u64 ring_bytes, bool overwrite = false) {
        EXPECT_EQ(cpus_begin(cpus, ring_bytes, overwrite), 0);
    }
    ~Session() { cpus_end(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};

// Runs `body` as each CPU, and `reader` repeatedly until all of them have ended.
inline void run_cpus(u32 cpus, void (*interrupt)(u32), const std::function<void(u32)>& body,
                     const std::function<void()>& reader) {
    std::atomic<u32> ended = 0;
    std::vector<std::thread> threads;
    for (u32 cpu = 0; cpu < cpus; cpu++)
        threads.emplace_back([&, cpu] {
            cpu_be(cpu, interrupt);
            body(cpu);
            cpu_be(cpu, nullptr);
            // Relaxed: a reader learns about records only from the rings.
            ended.fetch_add(1, std::memory_order_relaxed);
        });
    while (ended.load(std::memory_order_relaxed) < cpus) {
        reader();
        std::this_thread::yield();
    }
    for (std::thread& thread : threads)
        thread.join();
}

struct Payload {
    u64 cpu, level, sequence, words;
};

inline u64 payload_word(const Payload& payload, u64 index) {
    return (payload.cpu << 56 ^ payload.level << 48 ^ payload.sequence << 8 ^ (index + 1)) *
           0x9e3779b97f4a7c15ull;
}

// What one CPU wrote, by level. A level does not interrupt itself.
struct Writer {
    std::array<u64, LEVELS> kept{}, refused{};
    u32 cpu = 0;
    u32 max_words = 6;

    void fill(djs_record* record, u32 level, u64 words) {
        auto* payload = reinterpret_cast<Payload*>(record + 1);
        *payload = {cpu, level, kept[level]++, words};
        auto* word = reinterpret_cast<u64*>(payload + 1);
        for (u64 i = 0; i < words; i++) {
            word[i] = payload_word(*payload, i);
            if (i % 16 == 0)
                cpu_instruction();
        }
    }
    // Writes from a handler with a context, or from one without.
    bool write(u32 level) {
        static const djs_handler handler{};
        const u64 words = cpu_random() % (max_words + 1);
        const auto size = static_cast<u32>(sizeof(djs_record) + sizeof(Payload) + words * 8);
        djs_record* record;
        if (cpu_random() % 2) {
            record = cpu_reserve_inline(level, size);
            if (record) {
                fill(record, level, words);
                __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
            }
        } else {
            djs_ctx* ctx = djs_enter(&handler, nullptr);
            record = djs_reserve(ctx, level, size);
            if (record) {
                fill(record, level, words);
                djs_commit(ctx, record, size);
            }
            djs_leave(ctx);
        }
        refused[level] += !record;
        return record;
    }
    u64 all_kept() const { return kept[0] + kept[1] + kept[2] + kept[3]; }
    u64 all_refused() const { return refused[0] + refused[1] + refused[2] + refused[3]; }
};

inline std::array<Writer, CPUS_MAX> writers;

inline void reset_writers() {
    for (u32 cpu = 0; cpu < CPUS_MAX; cpu++) {
        writers[cpu] = {};
        writers[cpu].cpu = cpu;
    }
}

inline void write_record(u32 level) {
    writers[cpu_number()].write(level);
}

// Checks one CPU's records in their order in the ring.
class Checker {
  public:
    explicit Checker(u32 cpu) : cpu_(cpu) {}

    // `gaps`: older records may be missing.
    void check(const djs_record& record, bool gaps = false) {
        const auto& payload = reinterpret_cast<const Payload&>(*(&record + 1));
        const auto* word = reinterpret_cast<const u64*>(&payload + 1);
        ASSERT_EQ(payload.cpu, cpu_);
        ASSERT_LT(payload.level, LEVELS);
        ASSERT_EQ(record.id, payload.level);
        ASSERT_EQ(record.size, sizeof record + sizeof payload + payload.words * 8);
        for (u64 i = 0; i < payload.words; i++)
            ASSERT_EQ(word[i], payload_word(payload, i));
        if (gaps)
            ASSERT_GE(payload.sequence, next_[payload.level]);
        else
            ASSERT_EQ(payload.sequence, next_[payload.level]);
        next_[payload.level] = payload.sequence + 1;
        ASSERT_GE(record.time, time_) << "what interrupts has the later time and the later place";
        time_ = record.time;
        records_++;
    }
    u64 records() const { return records_; }
    void begin_anew() { *this = Checker(cpu_); }

  private:
    u32 cpu_;
    std::array<u64, LEVELS> next_{};
    u64 time_ = 0;
    u64 records_ = 0;
};
