// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers in a probed program work in: contexts, locks and rings.
#include "include/record.h"
#include "made_up_program.h"

#include <algorithm>
#include <utility>

namespace {

class ProgramContexts : public MadeUpProgram {
  protected:
    static constexpr u32 levels = 4;

    void SetUp() override {
        MadeUpProgram::SetUp();
        djs_script.handlers = handlers_;
        djs_script.handler_count = 2;
        djs_script.sites = sites_;
        djs_script.site_count = 2;
        djs_script.locks = reinterpret_cast<djs_lock*>(locks_);
        djs_script.lock_count = 2;
        djs_script.scratch_bytes = 100;
        djs_script.max_skipped = 100;
        locker_.locks = uses_;
        locker_.lock_count = 1;
        locker_.flags = DJS_HANDLER_IRQS_OFF;
        plain_.max_actions = 1000;
        ASSERT_EQ(in_program_contexts_init(), 0);
        open_gate();
        ASSERT_TRUE(comes(first_));
    }
    s32& holders(u32 lock) { return locks_[lock * DJS_LOCK_BYTES / sizeof(s32)]; }
    static in_program_counts counts() { return in_program_counts_of(djs_slot_here()); }

    djs_handler handlers_[2]{};
    djs_handler &plain_ = handlers_[0], &locker_ = handlers_[1];
    djs_site sites_[2]{};
    const djs_lock_use uses_[2]{{0, 1}, {1, 0}};
    alignas(DJS_LOCK_BYTES) s32 locks_[2 * DJS_LOCK_BYTES / sizeof(s32)]{};
};

TEST_F(ProgramContexts, AreThereForEachSlotAndLevel) {
    EXPECT_EQ(in_program_contexts_init(), 0);
    EXPECT_EQ(djs_gate, DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE);
    EXPECT_EQ(djs_session_ctx.level, 4U);
    EXPECT_EQ(djs_session_ctx.rests, u32{DJS_RESTS_ALONE});
    EXPECT_NE(djs_session_ctx.scratch, nullptr);
    std::vector<std::pair<char*, char*>> parts;
    const auto add = [&](char* begin, u64 bytes) {
        EXPECT_EQ(reinterpret_cast<u64>(begin) % 8, 0U);
        // Handlers find nothing there, and everything is memory.
        EXPECT_EQ(begin[0], 0);
        std::memset(begin, 1, bytes);
        parts.emplace_back(begin, begin + bytes);
    };
    const auto add_all = [&](const djs_ctx& ctx) {
        add(ctx.scratch, 100);
        add(ctx.work, 2560 + 128); // DJS_WORK_BYTES, and a string
        add(ctx.error_text, 256);
    };
    add_all(djs_session_ctx);
    for (u32 i = 0; i < DJS_SLOTS; i++)
        for (u32 level = 0; level < levels; level++) {
            const djs_ctx& ctx = in_program_contexts(i)[level];
            ASSERT_EQ(ctx.level, level);
            ASSERT_EQ(ctx.rests, u32{DJS_RESTS_NEVER});
            add_all(ctx);
        }
    std::sort(parts.begin(), parts.end());
    for (size_t i = 1; i < parts.size(); i++)
        ASSERT_LE(parts[i - 1].second, parts[i].first);
}

TEST_F(ProgramContexts, NeedAllTheirMemory) {
    u64 enough = 64;
    for (;; enough += 64) {
        ASSERT_LT(enough, heap_bytes);
        start(enough);
        const int error = in_program_contexts_init();
        if (!error)
            break;
        ASSERT_EQ(error, -ENOMEM);
        enough += enough / 1024 * 64; // some of the many places where it ends
    }
    // Those of all 64 slots: four contexts, each with its scratch memory and its work area.
    EXPECT_GT(enough, 64 * levels * (sizeof(djs_ctx) + 100 + 2560 + 128 + 256));
}

TEST_F(ProgramContexts, AreForOneHandlerAtATime) {
    djs_ctx* const ctx = in_program_enter(&plain_, &sites_[1]);
    ASSERT_EQ(ctx, in_program_contexts(1));
    EXPECT_EQ(ctx->handler, &plain_);
    EXPECT_EQ(ctx->site, &sites_[1]);
    EXPECT_EQ(ctx->actions, 1000);
    EXPECT_EQ(ctx->nesting, 0U);
    EXPECT_EQ(ctx->locks_held, 0U);
    EXPECT_NE(ctx->busy, 0U);
    EXPECT_EQ(slot(1).active, 1U);
    ctx->nesting = 5;
    ctx->actions = 0;
    // Those of other threads are others.
    ASSERT_TRUE(comes(second_));
    djs_ctx* const other = in_program_enter(&plain_, &sites_[0]);
    EXPECT_EQ(other, in_program_contexts(2));
    in_program_leave(other);
    EXPECT_EQ(slot(2).active, 0U);
    EXPECT_EQ(other->busy, 0U);
    ASSERT_TRUE(comes(first_));
    EXPECT_EQ(slot(1).active, 1U);
    in_program_leave(ctx);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(ctx->busy, 0U);
    EXPECT_TRUE(errors_.empty());
    EXPECT_EQ(in_program_enter(&plain_, &sites_[0]), ctx);
    EXPECT_EQ(ctx->nesting, 0U);
    EXPECT_EQ(ctx->actions, 1000);
}

TEST_F(ProgramContexts, AreAsManyAsSignalsInterruptEachOther) {
    fill_scratch(1);
    for (u32 i = 0; i < levels; i++) {
        EXPECT_EQ(in_program_enter(&plain_, nullptr), in_program_contexts(1) + i);
        EXPECT_EQ(slot(1).active, i + 1);
        EXPECT_EQ(counts().busy, 0U);
    }
    EXPECT_EQ(in_program_enter(&plain_, nullptr), nullptr);
    EXPECT_EQ(slot(1).active, levels);
    EXPECT_EQ(counts().busy, 1U);
    in_program_leave(in_program_contexts(1) + 3);
    EXPECT_EQ(in_program_enter(&plain_, nullptr), in_program_contexts(1) + 3);
}

TEST_F(ProgramContexts, AreClosedToHandlersThatTheGateStops) {
    plain_.flags = DJS_HANDLER_CHECKS_STATE;
    EXPECT_NE(in_program_enter(&plain_, nullptr), nullptr);
    in_program_leave(in_program_contexts(1));
    djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(in_program_enter(&plain_, nullptr), nullptr);
    EXPECT_EQ(in_program_lock_enter(&plain_), 0U);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(counts().busy, 0U);
    // That a handler has locks does not stop it; nor does what it is not marked with.
    EXPECT_NE(in_program_enter(&locker_, nullptr), nullptr);
    in_program_leave(in_program_contexts(1));
    EXPECT_NE(in_program_lock_enter(&locker_), 0U);
    in_program_lock_leave(&locker_, 1);
}

TEST_F(ProgramContexts, ReportTheErrorWhenTheLocksAreFree) {
    djs_ctx* const ctx = in_program_enter(&locker_, nullptr);
    ASSERT_NE(ctx, nullptr);
    EXPECT_EQ(holders(0), -1);
    EXPECT_EQ(ctx->locks_held, 1U);
    ctx->error = "no";
    reports_ = [&](djs_ctx* reported) {
        EXPECT_EQ(reported, ctx);
        EXPECT_EQ(holders(0), 0);
        EXPECT_NE(ctx->busy, 0U); // a signal does not get it yet
        EXPECT_EQ(slot(1).active, 1U);
    };
    in_program_leave(ctx);
    EXPECT_EQ(errors_, std::vector<std::string>{"no"});
    EXPECT_EQ(ctx->locks_held, 0U);
    EXPECT_EQ(ctx->error, nullptr);
}

TEST_F(ProgramContexts, TakeAllTheLocks) {
    locker_.lock_count = 2;
    djs_ctx* const ctx = in_program_enter(&locker_, nullptr);
    ASSERT_NE(ctx, nullptr);
    EXPECT_EQ(holders(0), -1);
    EXPECT_EQ(holders(1), 1); // is read
    in_program_leave(ctx);
    EXPECT_EQ(holders(0), 0);
    EXPECT_EQ(holders(1), 0);
    ASSERT_EQ(in_program_lock_enter(&locker_), 1U);
    EXPECT_EQ(slot(1).active, 1U);
    EXPECT_EQ(holders(0), -1);
    EXPECT_EQ(holders(1), 1);
    in_program_lock_leave(&locker_, 1);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(holders(0), 0);
    EXPECT_EQ(holders(1), 0);
    EXPECT_EQ(yield_count_, 0U);
}

TEST_F(ProgramContexts, WaitUntilTheHolderHasRun) {
    for (const bool has_context : {true, false}) {
        holders(0) = -1;
        yield_count_ = 0;
        yields_ = [&] {
            in_program_time += 333'333'333;
            if (yield_count_ == 3)
                holders(0) = 0;
        };
        if (has_context) {
            djs_ctx* const ctx = in_program_enter(&locker_, nullptr);
            ASSERT_NE(ctx, nullptr);
            in_program_leave(ctx);
        } else {
            ASSERT_NE(in_program_lock_enter(&locker_), 0U);
            in_program_lock_leave(&locker_, 1);
        }
        EXPECT_EQ(yield_count_, 3U);
        EXPECT_EQ(holders(0), 0);
        EXPECT_EQ(slot(1).active, 0U);
    }
    EXPECT_EQ(counts().locked, 0U);
    EXPECT_EQ(counts().busy, 0U);
}

TEST_F(ProgramContexts, DoNotWaitForWhatTheirOwnThreadHolds) {
    djs_ctx* const interrupted = in_program_enter(&locker_, nullptr);
    ASSERT_NE(interrupted, nullptr);
    EXPECT_EQ(in_program_enter(&locker_, nullptr), nullptr);
    EXPECT_EQ(counts().busy, 1U);
    EXPECT_EQ(in_program_contexts(1)[1].busy, 0U);
    EXPECT_EQ(in_program_lock_enter(&locker_), 0U);
    EXPECT_EQ(counts().busy, 2U);
    EXPECT_EQ(slot(1).active, 1U);
    EXPECT_EQ(yield_count_, 0U);
    EXPECT_EQ(counts().locked, 0U);
    EXPECT_EQ(holders(0), -1);
    in_program_leave(interrupted);
    EXPECT_EQ(holders(0), 0);
    EXPECT_EQ(control_.exit_requested, 0U);
}

TEST_F(ProgramContexts, DoNotWaitWhenTheScriptEnds) {
    locker_.flags |= DJS_HANDLER_CHECKS_STATE;
    holders(0) = -1;
    yields_ = [] { djs_gate |= DJS_HANDLER_CHECKS_STATE; };
    EXPECT_EQ(in_program_enter(&locker_, nullptr), nullptr);
    EXPECT_EQ(yield_count_, 1U);
    EXPECT_EQ(counts().locked, 0U); // nothing was missed
    EXPECT_EQ(counts().busy, 0U);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(in_program_contexts(1)->busy, 0U);
}

// Its holder was left by a longjmp: all hits are skipped from then on, but at once.
TEST_F(ProgramContexts, WaitOnlyOnceForALockThatIsNeverFree) {
    holders(0) = -1;
    yields_ = [] { in_program_time += 400'000'000; };
    EXPECT_EQ(in_program_enter(&locker_, nullptr), nullptr);
    EXPECT_EQ(yield_count_, 3U); // the second is over after 1.2 s
    EXPECT_EQ(counts().locked, 1U);
    EXPECT_EQ(counts().busy, 0U);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(in_program_contexts(1)->busy, 0U);
    EXPECT_EQ(in_program_lock_enter(&locker_), 0U);
    EXPECT_EQ(yield_count_, 3U);
    EXPECT_EQ(counts().locked, 2U);
    holders(0) = 0;
    EXPECT_NE(in_program_enter(&locker_, nullptr), nullptr);
}

TEST_F(ProgramContexts, EndTheScriptWhenTooManyHitsAreSkipped) {
    djs_script.max_skipped = 2;
    holders(0) = -1;
    yields_ = [] { in_program_time += 2'000'000'000; };
    for (const u32 skipped : {1U, 2U, 3U, 4U}) { // it ends once
        control_.exit_requested = control_.error = 0;
        EXPECT_EQ(in_program_enter(&locker_, nullptr), nullptr);
        EXPECT_EQ(counts().locked, skipped);
        EXPECT_EQ(control_.exit_requested, skipped == 3);
        EXPECT_EQ(control_.error, skipped == 3);
    }
}

// ---- rings

class ProgramRings : public MadeUpProgram {
  protected:
    void SetUp() override {
        MadeUpProgram::SetUp();
        ASSERT_EQ(in_program_rings_init(ring_bytes), 0);
        ASSERT_TRUE(comes(first_));
    }
    static u64& tail(u32 number) {
        u64 *tail = nullptr, bytes = 0;
        char* data = nullptr;
        in_program_ring(number, &tail, &data, &bytes);
        return *tail;
    }
    static in_program_counts counts() { return in_program_counts_of(djs_slot_here()); }

    djs_ctx ctx_{};
};

TEST_F(ProgramRings, HaveAPageForTheReaderAndTheirData) {
    for (const u32 number : {0U, 1U, DJS_SLOTS - 1}) {
        u64 *tail = nullptr, bytes = 0;
        char* data = nullptr;
        in_program_ring(number, &tail, &data, &bytes);
        EXPECT_EQ(reinterpret_cast<char*>(tail), rings_ + number * ring_stride);
        EXPECT_EQ(data, rings_ + number * ring_stride + page_bytes);
        EXPECT_EQ(bytes, ring_bytes);
        EXPECT_EQ(in_program_ring_head(number), &slot(number).head);
        EXPECT_EQ(slot(number).data, data);
        EXPECT_EQ(slot(number).mask, ring_bytes - 1);
        EXPECT_EQ(slot(number).limit, ring_bytes);
    }
}

TEST_F(ProgramRings, HoldRecordsThatAreWrittenByTheirThreads) {
    djs_record* const record = in_program_reserve(&ctx_, 7, 32);
    ASSERT_EQ(reinterpret_cast<char*>(record), slot(1).data);
    EXPECT_EQ(slot(1).head, 32U);
    // A reader that finds nobody in a handler passes over it.
    EXPECT_EQ(record->size, 32 | DJS_RECORD_IN_FLIGHT);
    EXPECT_EQ(record->id, 7U);
    const u64 time = record->time;
    EXPECT_NE(time, 0U);
    in_program_commit(&ctx_, record, 32);
    EXPECT_EQ(record->size, 32U);
    djs_record* const next = in_program_reserve(&ctx_, 8, 48);
    EXPECT_EQ(reinterpret_cast<char*>(next), slot(1).data + 32);
    EXPECT_GT(next->time, time);
    in_program_commit(&ctx_, next, 48);
    EXPECT_EQ(next->size, 48U);
    ASSERT_TRUE(comes(second_));
    EXPECT_EQ(reinterpret_cast<char*>(in_program_reserve(&ctx_, 9, 24)), slot(2).data);
    EXPECT_EQ(slot(1).head, 80U);
}

TEST_F(ProgramRings, ASignalsRecordIsBeforeTheOneThatItInterrupted) {
    djs_ctx of_signal{};
    djs_record* inner = nullptr;
    bool has_come = false;
    interrupted_ = [&] {
        if (std::exchange(has_come, true))
            return;
        inner = in_program_reserve(&of_signal, 2, 40);
        in_program_commit(&of_signal, inner, 40);
    };
    djs_record* const outer = in_program_reserve(&ctx_, 1, 24);
    EXPECT_EQ(reinterpret_cast<char*>(inner), slot(1).data);
    EXPECT_EQ(reinterpret_cast<char*>(outer), slot(1).data + 40);
    EXPECT_EQ(inner->size, 40U);
    EXPECT_EQ(inner->id, 2U);
    EXPECT_EQ(outer->id, 1U);
    EXPECT_GT(outer->time, inner->time);
    EXPECT_EQ(slot(1).head, 64U);
}

TEST_F(ProgramRings, AreFullUntilTheReaderHasConsumed) {
    ASSERT_NE(in_program_reserve(&ctx_, 1, 96), nullptr);
    ASSERT_NE(in_program_reserve(&ctx_, 1, ring_bytes - 96), nullptr); // just fits
    EXPECT_EQ(in_program_reserve(&ctx_, 1, 16), nullptr);
    EXPECT_EQ(counts().lost, 1U);
    EXPECT_EQ(counts().oversized, 0U);
    EXPECT_EQ(in_program_make_room(16), 0U);
    EXPECT_EQ(counts().lost, 2U);
    tail(1) = 96;
    EXPECT_EQ(in_program_reserve(&ctx_, 1, 104), nullptr);
    djs_record* const record = in_program_reserve(&ctx_, 1, 96); // at the beginning again
    EXPECT_EQ(reinterpret_cast<char*>(record), slot(1).data);
    EXPECT_EQ(slot(1).limit, 96 + ring_bytes);
    EXPECT_EQ(counts().lost, 3U);
    tail(1) = 200;
    EXPECT_EQ(in_program_make_room(112), 0U);
    EXPECT_EQ(in_program_make_room(104), 1U);
    EXPECT_EQ(slot(1).limit, 200 + ring_bytes); // which the handler's own instructions read
    EXPECT_EQ(counts().lost, 4U);
}

TEST_F(ProgramRings, HoldNoRecordThatIsLongerThanTheyAre) {
    EXPECT_EQ(in_program_reserve(&ctx_, 1, ring_bytes + 8), nullptr);
    EXPECT_EQ(in_program_make_room(ring_bytes + 8), 0U);
    EXPECT_EQ(counts().oversized, 2U);
    EXPECT_EQ(counts().lost, 0U);
    EXPECT_EQ(slot(1).head, 0U);
    EXPECT_EQ(in_program_make_room(ring_bytes), 1U);
    EXPECT_NE(in_program_reserve(&ctx_, 1, ring_bytes), nullptr);
}

// Only djstap itself can wait for its reader, which is the same process.
TEST_F(ProgramRings, AreDrainedByDjstapAlone) {
    static int drained;
    drained = 0;
    djs_user_settings.drain = [](void* data) {
        drained++;
        *static_cast<u64*>(data) += 1024;
    };
    djs_user_settings.data = &tail(0);
    in_program_current = &djstap_;
    for (u32 i = 0; i < 4; i++)
        ASSERT_NE(in_program_reserve(&ctx_, 1, 1024), nullptr);
    EXPECT_EQ(drained, 0);
    EXPECT_NE(in_program_reserve(&ctx_, 1, 1024), nullptr);
    EXPECT_EQ(drained, 1);
    EXPECT_EQ(counts().lost, 0U);
    djs_user_settings.data = &tail(1);
    ASSERT_TRUE(comes(first_));
    for (u32 i = 0; i < 4; i++)
        ASSERT_NE(in_program_reserve(&ctx_, 1, 1024), nullptr);
    EXPECT_EQ(in_program_reserve(&ctx_, 1, 1024), nullptr);
    EXPECT_EQ(drained, 1);
    EXPECT_EQ(counts().lost, 1U);
    djs_user_settings.drain = nullptr; // not everybody drains
    in_program_current = &djstap_;
    EXPECT_EQ(in_program_reserve(&ctx_, 1, 4096), nullptr);
}

} // namespace
