// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that run in a task, for the one that was interrupted, and signals and messages that are
// sent later.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "task_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <string>

namespace {

std::string task_seen;

class InTask : public testing::Test {
  protected:
    void SetUp() override {
        test_task_begin();
        handler_.flags = DJS_HANDLER_IN_TASK | DJS_HANDLER_IRQS_OFF;
        handler_.max_actions = 55;
        handler_.body = [](djs_ctx* ctx) {
            task_seen = std::to_string(ctx->actions) + " " + std::to_string(ctx->nesting) + " " +
                        (test_is_current(ctx->task) ? "interrupted on " + std::to_string(ctx->cpu)
                                                    : std::string("itself")) +
                        " " + (ctx->file_text ? ctx->file_text : "no file");
            ctx->nesting = 9;
        };
        djs_script.handlers = &handler_;
        djs_script.handler_count = 1;
        djs_script.string_bytes = 64;
        test_task_gate = DJS_HANDLER_IRQS_OFF;
        task_seen.clear();
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        djs_tasks_exit();
        EXPECT_EQ(test_current_references, 0);
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }
    static std::string log() { return taken_log(test_task_log); }

    djs_handler handler_{};
    djs_site site_{};
};

TEST_F(InTask, ActsForTheInterruptedOne) {
    ASSERT_EQ(djs_tasks_init(), 0);
    EXPECT_EQ(test_task_context()->rests, static_cast<u32>(DJS_RESTS_SHARED));
    djs_job* job = djs_job_make(&site_);
    ASSERT_NE(job, nullptr);
    for (const bool has_memory : {true, false}) {
        test_task_has_memory = has_memory;
        djs_job_start(job);
        EXPECT_EQ(test_current_references, 1);
        djs_job_start(job); // it has not run yet
        EXPECT_EQ(test_current_references, 1);
        EXPECT_EQ(task_seen, "");
        test_run_jobs();
        EXPECT_EQ(task_seen, "55 0 interrupted on 5 no file");
        task_seen.clear();
        EXPECT_EQ(log(), has_memory ? "begins\nmemory of the task\nlocks\nunlocks\nmemory left\n"
                                      "memory given back\nended\n"
                                    : "begins\nlocks\nunlocks\nended\n");
        EXPECT_EQ(test_current_references, 0);
        EXPECT_EQ(test_task_context()->task, nullptr);
    }
    EXPECT_EQ(test_task_skipped(), 2U);
    djs_job_start(job);
    djs_job_free(job); // before it ran
    EXPECT_EQ(test_current_references, 0);
    test_run_jobs();
    EXPECT_EQ(task_seen, "");
    djs_job_free(nullptr);
    djs_tasks_exit();
    EXPECT_EQ(log(), "queue ends\n");
    EXPECT_EQ(test_task_context()->scratch, nullptr);
}

TEST_F(InTask, DoesNotRunWhereItMustNot) {
    ASSERT_EQ(djs_tasks_init(), 0);
    handler_.flags |= DJS_HANDLER_CHECKS_STATE;
    djs_job* job = djs_job_make(&site_);
    djs_job_start(job);
    test_task_gate |= DJS_HANDLER_CHECKS_STATE;
    test_run_jobs();
    EXPECT_EQ(log(), "begins\nended\n");
    EXPECT_EQ(test_current_references, 0);
    djs_job_start(job);
    EXPECT_EQ(test_current_references, 0);
    EXPECT_FALSE(test_run_in_task(&handler_, &site_));
    EXPECT_EQ(log(), "begins\nended\n");
    EXPECT_EQ(task_seen, "");
    EXPECT_EQ(test_task_skipped(), 0U);
    djs_job_free(job);
}

TEST_F(InTask, HasWhatItIsGiven) {
    ASSERT_EQ(djs_tasks_init(), 0);
    djs_script.iterator_count = 1;
    EXPECT_TRUE(test_run_in_task(&handler_, &site_));
    EXPECT_EQ(task_seen, "55 0 itself text");
    EXPECT_EQ(test_task_context()->file_text, nullptr);
    EXPECT_EQ(test_task_context()->site, &site_);
    EXPECT_EQ(log(), "begins\nlocks\nwalks end\nunlocks\nended\n");
    handler_.body = [](djs_ctx* ctx) { ctx->error = "fails"; };
    EXPECT_TRUE(test_run_in_task(&handler_, &site_));
    EXPECT_EQ(
        log(),
        "begins\nlocks\nwalks end\nunlocks\npreemption off\nerror: fails\npreemption on\nended\n");
    EXPECT_EQ(test_task_context()->error, nullptr);
}

TEST_F(InTask, NeedsAQueueAndAContext) {
    test_no_queue = true;
    EXPECT_EQ(djs_tasks_init(), -ENOMEM);
    djs_tasks_exit();
    test_no_context = true;
    EXPECT_EQ(djs_tasks_init(), -ENOMEM);
    djs_tasks_exit();
    handler_.flags = 0; // nothing runs in a task
    EXPECT_EQ(djs_tasks_init(), 0);
    djs_tasks_exit();
    EXPECT_EQ(log(), "");
    test_allocations_left = 0;
    EXPECT_EQ(djs_job_make(&site_), nullptr);
}

class Deferred : public testing::Test {
  protected:
    void SetUp() override {
        test_task_begin();
        djs_deferred_init();
        context_.error_text = error_;
        djs_script.string_bytes = 64;
        test_task_flags = 0;
        test_is_current(nullptr);
    }
    void TearDown() override {
        test_run_deferred();
        EXPECT_EQ(test_current_references, 0);
        djs_script = {};
    }
    static std::string log() { return taken_log(test_task_log); }
    std::string error() {
        const std::string message = context_.error ? context_.error : "";
        context_.error = nullptr;
        return message;
    }

    djs_ctx context_{};
    char error_[256]{};
};

TEST_F(Deferred, AreSignalsOfTheirNumbers) {
    for (const s64 number : {s64{1}, s64{64}}) {
        djs_fn_raise(&context_, number);
        EXPECT_EQ(test_current_references, 1);
        EXPECT_EQ(log(), "");
        test_run_deferred();
        EXPECT_EQ(log(), "signal " + std::to_string(number) + "\n");
        EXPECT_EQ(test_current_references, 0);
    }
    for (const s64 number : {s64{0}, s64{-1}, s64{65}}) {
        djs_fn_raise(&context_, number);
        EXPECT_EQ(error(), "there is no signal " + std::to_string(number));
    }
    for (const u32 flags : {TEST_KTHREAD, TEST_EXITING}) {
        test_task_flags = flags;
        test_is_current(nullptr);
        djs_fn_raise(&context_, 9);
        EXPECT_EQ(error(), "the current task takes no signals");
    }
    EXPECT_EQ(test_current_references, 0);
}

TEST_F(Deferred, AreMessagesOfTheirLevels) {
    for (const s64 level : {s64{0}, s64{7}}) {
        djs_fn_printk(&context_, level, "said");
        test_run_deferred();
        EXPECT_EQ(log(), "<" + std::to_string(level) + "said\n");
    }
    for (const s64 level : {s64{-1}, s64{8}}) {
        djs_fn_printk(&context_, level, "said");
        EXPECT_EQ(error(), "there is no log level " + std::to_string(level));
    }
    djs_fn_printk(&context_, 4, std::string(2000, 'x').c_str());
    test_run_deferred();
    EXPECT_EQ(log(), "<4" + std::string(1023, 'x') + "\n");
}

TEST_F(Deferred, KeepHitsOfTheirLevelAway) {
    djs_handler before{};
    test_task_interrupt.handler = &before;
    djs_fn_raise(&context_, 9);
    test_run_deferred();
    EXPECT_EQ(test_task_interrupt.busy, 0U);
    EXPECT_EQ(test_task_interrupt.handler, nullptr); // it is not that one's time
    EXPECT_EQ(test_task_hits_skipped, 2U);
    // Unless a handler runs there already.
    test_task_interrupt.busy = DJS_BUSY_LOCKED;
    test_task_interrupt.handler = &before;
    djs_fn_raise(&context_, 9);
    test_run_deferred();
    EXPECT_EQ(test_task_interrupt.handler, &before);
    EXPECT_EQ(test_task_interrupt.busy, DJS_BUSY_LOCKED);
    EXPECT_EQ(log(), "signal 9\nsignal 9\n");
}

TEST_F(Deferred, AreNoMoreThanSixteenAtOnce) {
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 16; i++) {
            if (i % 2)
                djs_fn_raise(&context_, 9);
            else
                djs_fn_printk(&context_, 4, "");
            EXPECT_EQ(error(), "") << i;
        }
        djs_fn_raise(&context_, 9);
        EXPECT_EQ(error(), "too many calls of raise() and printk() at once");
        djs_fn_printk(&context_, 4, "");
        EXPECT_EQ(error(), "too many calls of raise() and printk() at once");
        EXPECT_EQ(test_current_references, 8);
        test_run_deferred();
        EXPECT_EQ(test_current_references, 0);
    }
    log();
    djs_deferred_finish();
    std::string expected;
    for (int i = 0; i < 16; i++)
        expected += "waits\n";
    EXPECT_EQ(log(), expected);
}

} // namespace
