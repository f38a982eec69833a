// SPDX-License-Identifier: GPL-2.0-or-later
// What a session's reader is told, and how a session ends that has no reader.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "report_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <string>
#include <utility>

namespace {

class Reports : public testing::Test {
  protected:
    void SetUp() override {
        test_report_begin();
        djs_script.string_bytes = 300;
        djs_script.max_errors = 1;
        stops = 0;
        init();
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_report_exit();
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_preempt_depth, 0);
        djs_script = {};
    }
    static void init() {
        ASSERT_EQ(test_report_init([] { stops++; }), 0);
    }
    // As a handler, which may wait for nobody.
    static void request_exit(bool error) {
        test_atomic_depth++;
        test_report_request_exit(error);
        test_atomic_depth--;
    }
    static std::string log() { return taken_log(test_report_log); }

    static inline u32 stops;
};

TEST_F(Reports, BeginWithAControlPage) {
    for (const bool overwrites : {false, true}) {
        test_report_exit();
        EXPECT_EQ(test_report_control, nullptr);
        EXPECT_EQ(guarded_count(), 0U);
        test_report_overwrite = overwrites;
        init();
        const djs_control_page& page = *test_report_control;
        EXPECT_EQ(page.abi_version, DJS_ABI_VERSION);
        EXPECT_EQ(page.state, DJS_STATE_LOADED);
        EXPECT_EQ(page.cpus, 3U);
        EXPECT_EQ(page.ring_bytes, 8192U);
        EXPECT_EQ(page.overwrite, u32{overwrites});
        EXPECT_EQ(page.exit_requested | page.error | page.errors | page.symbol_pages, 0U);
    }
    test_report_exit();
    test_allocations_left = 0;
    EXPECT_EQ(test_report_init(nullptr), -ENOMEM);
}

TEST_F(Reports, OfAStateWakeTheReader) {
    for (const djs_state state : {DJS_STATE_RUNNING, DJS_STATE_STOPPED}) {
        test_report_set_state(state);
        EXPECT_EQ(test_report_control->state, u32{state});
        EXPECT_EQ(log(), "wake\n");
    }
}

TEST_F(Reports, OfAnExitHaveTheReaderStopTheSession) {
    test_report_has_reader = true;
    for (const bool error : {false, true}) {
        test_report_gate = DJS_HANDLER_IRQS_OFF;
        request_exit(error);
        EXPECT_EQ(test_report_control->exit_requested, 1U);
        EXPECT_EQ(test_report_control->error, u32{error});
        // From then on, handlers ask whether the session is running.
        EXPECT_EQ(test_report_gate, u32{DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE});
        EXPECT_EQ(log(), "");
        EXPECT_TRUE(test_report_interrupt());
        EXPECT_EQ(log(), "wake\n");
        EXPECT_FALSE(test_report_work());
    }
    request_exit(false);
    EXPECT_EQ(test_report_control->error, 1U); // it stays
}

TEST_F(Reports, OfAnExitWithoutAReaderStopTheSession) {
    request_exit(false);
    EXPECT_TRUE(test_report_interrupt());
    EXPECT_EQ(stops, 0U);
    EXPECT_TRUE(test_report_work());
    EXPECT_EQ(stops, 1U);
    EXPECT_FALSE(test_report_interrupt());
}

TEST_F(Reports, EndWithWhatWasQueued) {
    request_exit(false);
    test_report_exit();
    EXPECT_FALSE(test_report_interrupt());
    EXPECT_FALSE(test_report_work());
    EXPECT_EQ(stops, 0U);
}

TEST_F(Reports, OfTooManyErrorsEndTheSession) {
    djs_ctx ctx{};
    ctx.error = "division by zero";
    ctx.error_place = 7;
    for (const u32 errors : {1U, 2U}) {
        test_report_error(&ctx);
        EXPECT_EQ(log(), "error: division by zero (7)\n");
        EXPECT_EQ(test_report_control->errors, errors);
        EXPECT_EQ(test_report_error_count(), errors);
        EXPECT_EQ(test_report_control->exit_requested, errors - 1);
        EXPECT_EQ(test_report_control->error, errors - 1);
    }
    // Whatever has ended a handler, an abort is no error.
    ctx.aborted = 1;
    test_report_error(&ctx);
    EXPECT_EQ(ctx.aborted, 0U);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_report_error_count(), 2U);
    test_report_error(&ctx);
    EXPECT_EQ(test_report_error_count(), 3U);
    // The next script has none.
    test_report_exit();
    init();
    EXPECT_EQ(test_report_error_count(), 0U);
}

TEST_F(Reports, OfTheSessionAreInTheKernelsLogIfNobodyReadsThem) {
    for (const bool has_reader : {false, true})
        for (const bool is_full : {false, true}) {
            test_report_has_reader = has_reader;
            test_report_is_full = is_full;
            test_report_message(DJS_RECORD_WARNING, "%d of %s", 2, "three");
            EXPECT_EQ(log(), has_reader && !is_full
                                 ? "warning: 2 of three (-1)\n"
                                 : "warning: 2 of three (-1)\ndjstap: 2 of three\n");
        }
    // Up to the length of a string, and no shorter than 255 bytes.
    test_report_has_reader = true;
    test_report_is_full = false;
    for (const auto& [string_bytes, most] : {std::pair{300U, 299U}, std::pair{100U, 255U}}) {
        djs_script.string_bytes = string_bytes;
        const std::string longest(most, 'x');
        test_report_message(DJS_RECORD_WARNING, "%sy", longest.c_str());
        EXPECT_EQ(log(), "warning: " + longest + " (-1)\n");
    }
}

TEST_F(Reports, AtAnyTimeAreInTheKernelsLogToo) {
    test_report_has_reader = true;
    test_report_message_alone("a livepatch was applied");
    EXPECT_EQ(log(), "warning: a livepatch was applied (-1)\ndjstap: a livepatch was applied\n");
}

} // namespace
