// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays under their locks: handlers on all CPUs change, read and walk over them, interrupted by
// others that do the same.
#include "threads/records.h"

#include <cstdio>

namespace {

constexpr u32 capacity = 48;
constexpr u32 rounds = 5000;

// Array 0: numbers by number; array 1: statistics by string, where new elements replace the oldest.
// Lock N guards array N and totals[N].
struct Arrays {
    Arrays() {
        maps[0].shape = shape(DJS_LONG, DJS_LONG);
        maps[1].shape = shape(DJS_STRING, DJS_STATISTIC);
        maps[1].shape.wrap = 1;
        maps[1].shape.statistic.bytes = djs_statistic_bytes(&maps[1].shape.statistic);
        for (u32 i = 0; i < 2; i++)
            maps[i].map = &map[i];
        unsorted.key = -1;
        iterators[0] = {&unsorted, &iterator[0], 0, 0, 0, 0};
        iterators[1] = {&sorted, &iterator[1], 0, capacity, 0, 0};
        djs_script.maps = maps;
        djs_script.map_count = 2;
        djs_script.iterators = iterators;
        djs_script.iterator_count = 2;
        djs_script.lock_count = 2;
        djs_script.locks = reinterpret_cast<djs_lock*>(locks);
        djs_script.string_bytes = 16;
        djs_script.max_trylock = 10;
        djs_script.max_skipped = 1u << 30;
    }
    static djs_map_shape shape(djs_type key, djs_type value) {
        djs_map_shape shape{};
        shape.key_count = 1;
        shape.key_types[0] = key;
        shape.value_type = value;
        shape.capacity = capacity;
        shape.string_bytes = 16;
        return shape;
    }
    alignas(DJS_LOCK_BYTES) char locks[2 * DJS_LOCK_BYTES]{};
    djs_map_use maps[2]{};
    djs_map* map[2]{};
    djs_map_order unsorted{}, sorted{};
    djs_iterator_use iterators[2]{};
    djs_iterator* iterator[2]{};
    s64 changes[2]{}; // made to the arrays
    s64 gone = 0;     // values of deleted elements of array 0
};

struct LockSession : Arrays {
    explicit LockSession(u32 cpus) : session(cpus, 4096) {}
    Session session;
};

Arrays* arrays;

// What each CPU did: [0]: changes of array 0; [1]: of array 1; [2]: nothing, because a lock could
// not be taken.
struct Counts {
    std::array<std::array<u64, 3>, LEVELS> at{};
    u64 sum(u32 what) const { return at[0][what] + at[2][what] + at[3][what]; }
};
std::array<Counts, CPUS_MAX> counts;
u64& count(u32 what) {
    return counts[cpu_number()].at[cpu_level()][what];
}

constexpr djs_lock_use write_0[] = {{0, 1}}, read_0[] = {{0, 0}}, both[] = {{0, 0}, {1, 1}};

djs_handler handler(const djs_lock_use* locks, u32 lock_count) {
    djs_handler handler{};
    handler.locks = locks;
    handler.lock_count = lock_count;
    handler.flags = DJS_HANDLER_IRQS_OFF;
    handler.max_actions = 1000;
    return handler;
}
const djs_handler changes = handler(write_0, 1), looks = handler(read_0, 1),
                  copies = handler(both, 2);

// array0[key]++, or delete array0[key]
void change() {
    const u64 flags = djs_lock_enter(&changes);
    if (!flags) {
        count(2)++;
        return;
    }
    EXPECT_FALSE(cpu_interrupts());
    const djs_value key{static_cast<s64>(cpu_random() % (capacity + 8))};
    cpu_instruction();
    if (cpu_random() % 8 == 0) {
        if (const auto* value = static_cast<s64*>(djs_map_find_slot(arrays->map[0], key.number)))
            arrays->gone += *value;
        djs_map_erase(arrays->map[0], &key);
    } else if (auto* value = static_cast<s64*>(djs_map_insert_slot(arrays->map[0], key.number))) {
        const s64 old = *value;
        cpu_instruction();
        *value = old + 1;
        arrays->changes[0]++;
        count(0)++;
    }
    cpu_instruction();
    djs_lock_leave(&changes, flags);
}

// foreach (key in array0) sum += array0[key]
s64 sum_of(djs_ctx* ctx, djs_iterator* iterator, bool falling) {
    djs_foreach loop{};
    s64 sum = 0, last = INT64_MAX;
    djs_foreach_begin(ctx, &loop, iterator, nullptr, -1, 0);
    while (const u32 number = djs_foreach_next(ctx, &loop)) {
        const s64 value = *static_cast<s64*>(djs_map_value(arrays->map[0], number));
        if (falling)
            EXPECT_LE(value, last);
        last = value;
        sum += value;
        cpu_instruction();
    }
    return sum;
}

// Runs a handler with a context; without a context, the hit is skipped.
template <class Body> void run(const djs_handler& handler, Body body) {
    djs_ctx* ctx = djs_enter(&handler, nullptr);
    if (!ctx) {
        count(2)++;
        return;
    }
    EXPECT_FALSE(cpu_interrupts());
    body(ctx);
    djs_leave(ctx);
}

void look(djs_ctx* ctx) {
    EXPECT_EQ(sum_of(ctx, arrays->iterator[0], false) + arrays->gone, arrays->changes[0]);
}

void sort(djs_ctx* ctx) {
    EXPECT_EQ(sum_of(ctx, arrays->iterator[1], true) + arrays->gone, arrays->changes[0]);
}

// array1[text] <<< array0[key]
void copy(djs_ctx*) {
    const s64 number = static_cast<s64>(cpu_random() % 100);
    char text[16];
    std::snprintf(text, sizeof text, "%d", static_cast<int>(number));
    djs_value key{};
    key.text = text;
    const auto* value = static_cast<s64*>(djs_map_find_slot(arrays->map[0], number));
    auto* statistic = static_cast<djs_statistic*>(djs_map_insert(arrays->map[1], &key));
    if (!statistic) {
        ADD_FAILURE() << "no room where the oldest gives way";
    } else {
        djs_statistic_add(&arrays->maps[1].shape.statistic, statistic, value ? *value : 0);
        arrays->changes[1]++;
        count(1)++;
    }
    cpu_instruction();
}

void any_handler(u32) {
    switch (cpu_random() % 6) {
    case 0:
        return run(looks, look);
    case 1:
        return run(changes, sort);
    case 2:
    case 3:
        return run(copies, copy);
    default:
        return change();
    }
}

class Locks : public testing::TestWithParam<u32> {};

} // namespace

TEST_P(Locks, HandlersSeeAndLeaveTheArraysWhole) {
    LockSession session(GetParam());
    arrays = &session;
    counts = {};
    run_cpus(
        GetParam(), any_handler,
        [](u32) {
            for (u32 i = 0; i < rounds; i++)
                any_handler(LEVEL_TASK);
        },
        [] {});
    u64 done[3] = {};
    for (const Counts& each : counts)
        for (u32 what = 0; what < 3; what++)
            done[what] += each.sum(what);
    EXPECT_EQ(static_cast<u64>(session.changes[0]), done[0]);
    EXPECT_EQ(static_cast<u64>(session.changes[1]), done[1]);
    EXPECT_EQ(cpus_skipped_locked() + cpus_skipped_busy(), done[2]);
    EXPECT_GT(done[0], 0u);
    EXPECT_GT(done[1], 0u);
    EXPECT_GT(done[2], 0u);
    // All locks are released.
    const u64 skipped = cpus_skipped_locked();
    cpu_be(0, nullptr);
    change();
    run(looks, look);
    run(changes, sort);
    run(copies, copy);
    EXPECT_EQ(cpus_skipped_locked(), skipped);
    s64 sum = session.gone;
    for (s64 key = 0; key < capacity + 8; key++)
        if (const auto* value = static_cast<s64*>(djs_map_find_slot(session.map[0], key)))
            sum += *value;
    EXPECT_EQ(sum, session.changes[0]);
}

INSTANTIATE_TEST_SUITE_P(Cpus, Locks, testing::Values(2u, 4u), testing::PrintToStringParamName());
