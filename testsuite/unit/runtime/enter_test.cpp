// SPDX-License-Identifier: GPL-2.0-or-later
// When a handler gets the context of its level, what a processor is like meanwhile and behind it,
// and which hits are skipped.
#include "enter_for_test.h"
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace {

std::string seen;

class Contexts : public testing::Test {
  protected:
    void SetUp() override {
        test_processor_begin();
        djs_script.scratch_bytes = 100;
        djs_script.string_bytes = 64;
        djs_script.max_skipped = 2;
        ASSERT_EQ(test_contexts_init(), 0);
        log();
        plain_.max_actions = 77;
        plain_.stack = 500;
        locks_ = plain_;
        locks_.flags = DJS_HANDLER_IRQS_OFF;
        locks_.lock_count = 1;
        several_ = locks_;
        several_.lock_count = 3;
        site_.address = 0x1000;
        site_.segment = DJS_NO_INDEX;
    }
    void TearDown() override {
        test_contexts_exit();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    static std::string log() { return taken_log(test_enter_log); }
    static void expect_processor(bool irqs_off, int preemption_off) {
        EXPECT_EQ(test_irqs_off, irqs_off);
        EXPECT_EQ(test_preemption_off, preemption_off);
    }
    djs_ctx* enter(const djs_handler& handler) { return test_enter_context(&handler, &site_); }

    djs_handler plain_{}, locks_{}, several_{};
    djs_site site_{};
};

TEST_F(Contexts, AreThoseOfTheirLevels) {
    for (const u32 level : {0U, 1U, 2U, 3U}) {
        test_level = level;
        djs_ctx* ctx = enter(plain_);
        ASSERT_EQ(ctx, test_context(level));
        EXPECT_EQ(ctx->busy, DJS_BUSY_UNLOCKED);
        EXPECT_EQ(ctx->handler, &plain_);
        EXPECT_EQ(ctx->site, &site_);
        EXPECT_EQ(ctx->actions, 77);
        EXPECT_EQ(ctx->nesting, 0U);
        expect_processor(false, static_cast<int>(level) + 1);
    }
    for (const u32 level : {3U, 2U, 1U, 0U}) {
        test_level = level;
        EXPECT_EQ(enter(plain_), nullptr);
        test_leave_context(test_context(level));
        EXPECT_EQ(test_context(level)->busy, 0U);
        expect_processor(false, static_cast<int>(level));
    }
    EXPECT_EQ(test_skipped_busy(), 4U);
    EXPECT_EQ(log(), "");
}

TEST_F(Contexts, ClearTheDepthOfCalls) {
    djs_ctx* ctx = enter(plain_);
    ctx->nesting = 5;
    ctx->actions = -1;
    test_leave_context(ctx);
    ctx = enter(plain_);
    EXPECT_EQ(ctx->nesting, 0U);
    EXPECT_EQ(ctx->actions, 77);
    test_leave_context(ctx);
}

TEST_F(Contexts, AreNotForHandlersThatMustNotRun) {
    test_enter_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_MAY_LINGER;
    for (djs_handler* handler : {&plain_, &locks_}) {
        handler->flags |= DJS_HANDLER_MAY_LINGER;
        for (const u32 level : {0U, 2U}) {
            test_level = level;
            EXPECT_EQ(enter(*handler), nullptr);
            EXPECT_EQ(test_lock_enter(handler), 0U);
        }
        handler->flags |= DJS_HANDLER_CHECKS_STATE;
        handler->flags &= ~DJS_HANDLER_MAY_LINGER;
        test_level = 0;
        djs_ctx* ctx = enter(*handler);
        ASSERT_NE(ctx, nullptr);
        test_leave_context(ctx);
    }
    expect_processor(false, 0);
    EXPECT_EQ(test_skipped_busy() + test_skipped_locked() + test_skipped_stack(), 0U);
}

TEST_F(Contexts, NeedStack) {
    test_stack_is_ample = false;
    test_stack_left = 499;
    for (const djs_handler* handler : {&plain_, &locks_})
        EXPECT_EQ(enter(*handler), nullptr);
    EXPECT_EQ(test_skipped_stack(), 2U);
    test_stack_left = 500;
    djs_ctx* ctx = enter(plain_);
    ASSERT_NE(ctx, nullptr);
    test_leave_context(ctx);
    expect_processor(false, 0);
    EXPECT_EQ(test_lacks_stack(500), 0U);
    EXPECT_EQ(test_lacks_stack(501), 1U);
    EXPECT_EQ(test_skipped_stack(), 3U);
}

TEST_F(Contexts, WithLocksHaveInterruptsDisabled) {
    for (const u32 level : {0U, 1U}) {
        test_level = level;
        djs_ctx* ctx = enter(locks_);
        ASSERT_EQ(ctx, test_context(level));
        EXPECT_EQ(ctx->busy, DJS_BUSY_LOCKED);
        EXPECT_EQ(ctx->locks_held, 1U);
        expect_processor(true, 1);
        test_leave_context(ctx);
        EXPECT_EQ(log(), "released\n");
        EXPECT_EQ(ctx->busy, 0U);
        EXPECT_EQ(ctx->locks_held, 0U);
        expect_processor(false, 0);
    }
}

TEST_F(Contexts, LeaveInterruptsAsTheyWere) {
    test_irqs_off = true;
    for (const bool measures : {false, true}) {
        test_measures_time = measures;
        djs_ctx* ctx = enter(locks_);
        ASSERT_NE(ctx, nullptr);
        EXPECT_EQ(ctx->busy, DJS_BUSY_LOCKED | (measures ? DJS_BUSY_TIMED : 0));
        EXPECT_EQ(ctx->locks_held, 1U);
        expect_processor(true, 1);
        test_leave_context(ctx);
        EXPECT_EQ(log(), measures ? "time begins\nreleased slowly\ntime ends\n" : "released\n");
        EXPECT_EQ(ctx->busy, 0U);
        EXPECT_EQ(ctx->locks_held, 0U);
        expect_processor(true, 0);
        for (const u32 level : {0U, 2U}) {
            test_level = level;
            ctx = enter(plain_);
            ASSERT_NE(ctx, nullptr);
            EXPECT_EQ(ctx->busy, DJS_BUSY_UNLOCKED | (measures ? DJS_BUSY_TIMED : 0));
            expect_processor(true, 1);
            test_leave_context(ctx);
            EXPECT_EQ(log(), measures ? "time begins\ntime ends\n" : "");
            EXPECT_EQ(ctx->busy, 0U);
            expect_processor(true, 0);
        }
        test_level = 0;
    }
}

TEST_F(Contexts, WaitForLocks) {
    test_locks_free_later = true;
    for (const bool irqs_off : {false, true})
        for (const u32 level : {0U, 3U}) {
            test_irqs_off = irqs_off;
            test_level = level;
            djs_ctx* ctx = enter(several_);
            ASSERT_NE(ctx, nullptr);
            EXPECT_EQ(log(), level == 3 ? "try locks\n" : "wait for locks\n");
            EXPECT_EQ(ctx->locks_held, 3U);
            expect_processor(true, 1);
            test_leave_context(ctx);
            EXPECT_EQ(log(), "released slowly\n");
            EXPECT_EQ(ctx->locks_held, 0U);
            EXPECT_EQ(ctx->busy, 0U);
            expect_processor(irqs_off, 0);
        }
}

TEST_F(Contexts, AreGivenBackWhereLocksAreNotFree) {
    test_locks_free = false;
    EXPECT_EQ(enter(locks_), nullptr);
    EXPECT_EQ(log(), "wait for locks\n");
    EXPECT_EQ(test_context(0)->busy, 0U);
    expect_processor(false, 0);
    test_irqs_off = test_measures_time = true;
    EXPECT_EQ(enter(locks_), nullptr);
    EXPECT_EQ(log(), "time begins\nwait for locks\ntime ends\n");
    EXPECT_EQ(test_context(0)->busy, 0U);
    expect_processor(true, 0);
    EXPECT_EQ(test_skipped_locked(), 2U);
    // One more than may be skipped ends the session, once.
    test_measures_time = false;
    EXPECT_EQ(enter(locks_), nullptr);
    EXPECT_EQ(log(), "wait for locks\nexit\n");
    EXPECT_EQ(enter(locks_), nullptr);
    EXPECT_EQ(log(), "wait for locks\n");
    EXPECT_EQ(test_skipped_locked(), 4U);
    EXPECT_EQ(test_skipped_busy(), 0U);
    // It would wait for itself.
    test_lock_alone(true);
    EXPECT_EQ(enter(locks_), nullptr);
    EXPECT_EQ(log(), "try locks\n");
    EXPECT_EQ(test_skipped_locked(), 4U);
    EXPECT_EQ(test_skipped_busy(), 1U);
}

TEST_F(Contexts, ReportErrorsWithoutLocks) {
    djs_ctx* ctx = enter(plain_);
    test_fail(ctx, "first", 3);
    test_fail(ctx, "second", 4);
    test_leave_context(ctx);
    EXPECT_EQ(log(), "error: first 3\n");
    EXPECT_EQ(ctx->error, nullptr);
    EXPECT_EQ(ctx->busy, 0U);
    expect_processor(false, 0);
    ctx = enter(locks_);
    test_fail(ctx, "third", 5);
    test_leave_context(ctx);
    EXPECT_EQ(log(), "released slowly\nerror: third 5\n");
    EXPECT_EQ(ctx->locks_held, 0U);
    EXPECT_EQ(ctx->busy, 0U);
    expect_processor(false, 0);
    ctx = enter(plain_);
    test_leave_context(ctx);
    EXPECT_EQ(log(), "");
    test_fail_alone("alone", 6);
    EXPECT_EQ(log(), "error: alone 6\n");
    expect_processor(false, 0);
}

TEST_F(Contexts, AreNotNeededForLocks) {
    for (const bool irqs_off : {false, true})
        for (const bool measures : {false, true}) {
            test_irqs_off = irqs_off;
            test_measures_time = measures;
            const u64 flags = test_lock_enter(&locks_);
            EXPECT_EQ(flags, !irqs_off   ? TEST_IRQS_ON | TEST_IRQS_OFF
                             : !measures ? TEST_IRQS_OFF
                                         : TEST_IRQS_OFF | TEST_TIMED);
            EXPECT_TRUE(test_irqs_off);
            log();
            test_lock_leave(&locks_, flags);
            EXPECT_EQ(log(), irqs_off && measures ? "released\ntime ends\n" : "released\n");
            expect_processor(irqs_off, 0);
        }
}

TEST_F(Contexts, AreNotNeededToWaitForLocks) {
    test_locks_free_later = true;
    for (const bool irqs_off : {false, true})
        for (const u32 level : {0U, 3U}) {
            test_irqs_off = irqs_off;
            test_measures_time = irqs_off;
            test_level = level;
            const u64 flags = test_lock_enter(&several_);
            EXPECT_EQ(flags, irqs_off ? TEST_IRQS_OFF | TEST_TIMED : TEST_IRQS_ON | TEST_IRQS_OFF);
            EXPECT_EQ(log(), std::string(irqs_off ? "time begins\n" : "") +
                                 (level == 3 ? "try locks\n" : "wait for locks\n"));
            test_lock_leave(&several_, flags);
            EXPECT_EQ(log(), irqs_off ? "released slowly\ntime ends\n" : "released slowly\n");
            expect_processor(irqs_off, 0);
        }
    test_level = 0;
    test_irqs_off = true; // by the handler
    EXPECT_EQ(test_lock_wait(&locks_), TEST_IRQS_ON | TEST_IRQS_OFF);
    EXPECT_TRUE(test_irqs_off);
    test_locks_free_later = false;
    EXPECT_EQ(test_lock_wait(&locks_), 0U);
    EXPECT_FALSE(test_irqs_off);
    EXPECT_EQ(test_skipped_locked(), 1U);
}

TEST_F(Contexts, OfOthersSayThatLocksAreHeldHere) {
    djs_script.max_skipped = 100;
    test_locks_free = false;
    EXPECT_EQ(test_lock_enter(&locks_), 0U);
    EXPECT_EQ(log(), "wait for locks\n");
    expect_processor(false, 0);
    EXPECT_EQ(test_skipped_locked(), 1U);
    u64 busy = 0;
    for (const u32 level : {0U, 1U, 2U, 3U}) {
        test_context(level)->busy = DJS_BUSY_UNLOCKED;
        EXPECT_EQ(test_lock_enter(&locks_), 0U);
        EXPECT_EQ(log(), "wait for locks\n") << level;
        test_context(level)->busy = DJS_BUSY_LOCKED | DJS_BUSY_TIMED;
        EXPECT_EQ(test_lock_enter(&locks_), 0U);
        EXPECT_EQ(log(), "try locks\n") << level;
        EXPECT_EQ(test_skipped_busy(), ++busy);
        test_context(level)->busy = 0;
    }
    test_irqs_off = test_measures_time = true;
    test_level = 3;
    EXPECT_EQ(test_lock_enter(&locks_), 0U);
    EXPECT_EQ(log(), "time begins\ntry locks\ntime ends\n");
    expect_processor(true, 0);
    test_lock_alone(true);
    EXPECT_EQ(test_lock_enter(&locks_), 0U);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_skipped_busy(), ++busy);
    EXPECT_EQ(test_lock_wait(&locks_), 0U);
    EXPECT_EQ(log(), "try locks\n");
    EXPECT_EQ(test_skipped_busy(), ++busy);
}

TEST_F(Contexts, KnowRegistersWhileTheirHandlersRun) {
    plain_.body = [](djs_ctx* ctx) {
        seen += (ctx->regs ? "registers" : "none") +
                std::string(ctx->user_regs ? " of a program" : "") + " at " +
                std::to_string(ctx->address) + "\n";
    };
    seen.clear();
    test_run_handler(&plain_, &site_, true, true);
    EXPECT_EQ(test_context(0)->regs, nullptr);
    EXPECT_EQ(test_context(0)->user_regs, 0U);
    test_run_handler(&plain_, &site_, true, false);
    test_run_handler(&plain_, &site_, false, false);
    test_run_handler(&plain_, nullptr, false, false);
    EXPECT_EQ(seen, "registers of a program at 4096\nregisters at 4096\nnone at 4096\nnone at 0\n");
    djs_ctx* ctx = enter(plain_);
    test_run_handler(&plain_, &site_, false, false);
    test_leave_context(ctx);
    EXPECT_EQ(test_skipped_busy(), 1U);
}

TEST_F(Contexts, HaveMemoryOfTheirOwn) {
    const djs_ctx* session = test_context_of_session();
    EXPECT_EQ(session->can_wait, 1U);
    EXPECT_EQ(session->rests, static_cast<u32>(DJS_RESTS_ALONE));
    EXPECT_EQ(session->level, 4U);
    EXPECT_EQ(test_variables(0), 1000U);
    EXPECT_EQ(test_variables(1), 1001U);
    // Each is filled to its end: if that is too far, the next one is overwritten, or the last one
    // ends the test.
    const size_t bytes = 128 + 2560 + 64 + 256; // scratch, work, a string, a message
    for (u32 number = 0; number < 8; number++) {
        const djs_ctx* ctx = test_context(number);
        EXPECT_EQ(ctx->level, number % 4);
        EXPECT_EQ(ctx->work, ctx->scratch + 128);
        memset(ctx->scratch, static_cast<int>(number + 1), bytes);
    }
    memset(session->scratch, 9, bytes);
    for (u32 number = 0; number < 8; number++)
        for (size_t i = 0; i < bytes; i++)
            ASSERT_EQ(test_context(number)->scratch[i], static_cast<char>(number + 1))
                << number << " " << i;
}

TEST_F(Contexts, AreAllOrNone) {
    test_contexts_exit();
    EXPECT_EQ(guarded_count(), 0U);
    long allowed = 0;
    for (int error = -ENOMEM; error != 0; allowed++) {
        ASSERT_LT(allowed, 20);
        test_allocations_left = allowed;
        error = test_contexts_init();
        test_allocations_left = LONG_MAX;
        EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
        if (error) {
            EXPECT_EQ(guarded_count(), 0U) << allowed;
        }
    }
    EXPECT_EQ(allowed, 7); // the session's, the tasks', and two for each processor
    test_contexts_exit();
    log();
    test_enter_memory = false;
    EXPECT_EQ(test_contexts_init(), -ENOMEM);
    EXPECT_EQ(log(), std::to_string(2 * 4 * (128 + 2560 + 64 + 256)) + " bytes\n");
    EXPECT_EQ(guarded_count(), 0U);
}

} // namespace
