// SPDX-License-Identifier: GPL-2.0-or-later
// Which begin, end and error probes run, and in which order; what the session records itself.
#include "include/control.h"
#include "include/record.h"
#include "include/script.h"
#include "userspace/userspace.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

extern "C" { // include/functions.h, which is no C++, and record/rings.h
void djs_fn_exit(djs_ctx* ctx);
void djs_fn_abort(djs_ctx* ctx);
bool djs_record_text(djs_ctx* ctx, u32 id, const char* text, s64 number);
void djs_record_number(djs_ctx* ctx, u32 id, s64 number);
void djs_record_plain(djs_ctx* ctx, u32 id);
}

namespace {

class SessionLife : public testing::Test {
  protected:
    using Action = std::function<void(djs_ctx*)>;

    void SetUp() override {
        ASSERT_EQ(djs_user_init(1), 0);
        ran.clear();
        actions.clear();
    }
    void TearDown() override {
        djs_session_stop();
        djs_user_unload();
        djs_user_exit();
    }
    // A probe that runs with each of so many sites; 0: without one.
    void add(djs_handler_kind kind, s64 priority = 0, Action action = {}, int sites = 0,
             u32 max_actions = 1000) {
        djs_handler handler{};
        handler.kind = kind;
        handler.max_actions = max_actions;
        handler.arguments[DJS_SESSION_PRIORITY] = static_cast<u64>(priority);
        handler.body = [](djs_ctx* ctx) {
            const auto number = static_cast<size_t>(ctx->handler - djs_script.handlers);
            ran += static_cast<char>('a' + number);
            EXPECT_EQ(ctx->error, nullptr);
            EXPECT_EQ(ctx->nesting, 0u);
            if (ctx->site)
                ran += std::to_string(ctx->site - djs_script.sites);
            if (actions[number])
                actions[number](ctx);
        };
        for (int i = 0; i < sites; i++) {
            djs_site site{};
            site.handler = static_cast<u32>(handlers_.size());
            sites_.push_back(site);
        }
        handlers_.push_back(handler);
        actions.push_back(std::move(action));
    }
    void load(u32 max_errors = 0) {
        script_.handlers = handlers_.data();
        script_.handler_count = static_cast<u32>(handlers_.size());
        script_.sites = sites_.data();
        script_.site_count = static_cast<u32>(sites_.size());
        script_.max_errors = max_errors;
        script_.string_bytes = 128;
        djs_user_options options{};
        options.ring_bytes = 65536;
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
    }
    // What has run since the last call: the letter of each probe, and its site.
    static std::string seen() { return std::exchange(ran, ""); }
    static std::string started() {
        EXPECT_EQ(djs_session_start(), 0);
        return seen();
    }
    static std::string stopped() {
        djs_session_stop();
        return seen();
    }
    static u64 errors() {
        djs_counts counts{};
        djs_user_counts(&counts);
        return counts.errors;
    }
    // The record that was written last, and its size.
    static const djs_record* last_record(u32& size) {
        u64 *tail, bytes;
        char* data;
        djs_user_ring(0, &tail, &data, &bytes);
        const u64 head = *djs_user_ring_head(0);
        const djs_record* record = nullptr;
        for (u64 at = *tail; at < head; at += record->size)
            record = reinterpret_cast<const djs_record*>(data + (at & (bytes - 1)));
        size = record ? record->size : 0;
        return record;
    }
    static void fails(djs_ctx* ctx) { djs_fail(ctx, "it fails", 3); }

    static inline std::string ran;
    static inline std::vector<Action> actions;

  private:
    std::vector<djs_handler> handlers_;
    std::vector<djs_site> sites_;
    struct djs_script script_{};
};

} // namespace

TEST_F(SessionLife, ProbesRunByPriorityThenAsTheyAreWritten) {
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END, 1);
    add(DJS_HANDLER_BEGIN, -5);
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_BEGIN, INT_MAX);
    add(DJS_HANDLER_BEGIN, INT_MIN);
    add(DJS_HANDLER_ERROR);
    add(DJS_HANDLER_END);
    add(DJS_HANDLER_TIMER, -7);
    load();
    EXPECT_EQ(started(), "fcade");
    EXPECT_EQ(stopped(), "hb");
    EXPECT_FALSE(djs_user_exit_requested());
}

TEST_F(SessionLife, ProbesRunOnceForEachOfTheirSites) {
    add(DJS_HANDLER_BEGIN, 2, {}, 2);
    add(DJS_HANDLER_BEGIN, 1, {}, 1);
    add(DJS_HANDLER_END, 0, {}, 3);
    load();
    EXPECT_EQ(started(), "b2a0a1");
    EXPECT_EQ(stopped(), "c3c4c5");
}

TEST_F(SessionLife, IsStartedAndStoppedOnce) {
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END);
    load();
    EXPECT_EQ(started(), "a");
    EXPECT_EQ(djs_session_start(), -EBUSY);
    EXPECT_EQ(seen(), "");
    EXPECT_EQ(stopped(), "b");
    EXPECT_EQ(stopped(), "");
    EXPECT_EQ(djs_session_start(), -EBUSY);
    EXPECT_EQ(seen(), "");
}

TEST_F(SessionLife, ThatNeverBeganHasNoEnd) {
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END);
    load();
    EXPECT_EQ(stopped(), "");
    EXPECT_EQ(djs_session_start(), -EBUSY);
    EXPECT_EQ(seen(), "");
}

TEST_F(SessionLife, ExitEndsTheBeginning) {
    add(DJS_HANDLER_BEGIN, 0, [](djs_ctx* ctx) { djs_fn_exit(ctx); }, 2);
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END);
    add(DJS_HANDLER_END);
    add(DJS_HANDLER_ERROR);
    load();
    EXPECT_EQ(started(), "a0");
    EXPECT_TRUE(djs_user_exit_requested());
    EXPECT_FALSE(djs_user_failed());
    EXPECT_EQ(stopped(), "cd");
}

TEST_F(SessionLife, ErrorProbesRunInsteadOfEndProbes) {
    add(DJS_HANDLER_ERROR);
    add(DJS_HANDLER_BEGIN, 0, fails);
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END);
    load();
    EXPECT_EQ(started(), "b");
    EXPECT_TRUE(djs_user_exit_requested());
    EXPECT_TRUE(djs_user_failed());
    EXPECT_EQ(stopped(), "a");
}

TEST_F(SessionLife, WithoutErrorProbesAllEndProbesRun) {
    add(DJS_HANDLER_BEGIN, 0, fails);
    add(DJS_HANDLER_END, 0, fails);
    add(DJS_HANDLER_END);
    load();
    EXPECT_EQ(started(), "a");
    EXPECT_EQ(stopped(), "bc");
    EXPECT_EQ(errors(), 2u);
}

TEST_F(SessionLife, AnEndThatFailsIsFollowedByNoOther) {
    add(DJS_HANDLER_END, 0, fails, 2);
    add(DJS_HANDLER_END);
    add(DJS_HANDLER_ERROR);
    load();
    EXPECT_EQ(started(), "");
    EXPECT_EQ(stopped(), "a0c");
}

TEST_F(SessionLife, MoreErrorsThanMaxerrorsEndIt) {
    for (int i = 0; i < 4; i++)
        add(DJS_HANDLER_BEGIN, 0, fails);
    load(2);
    EXPECT_EQ(started(), "abc");
    EXPECT_EQ(errors(), 3u);
    EXPECT_TRUE(djs_user_failed());
    // Those of another session count from the beginning.
    EXPECT_EQ(stopped(), "");
    djs_user_unload();
    load(4);
    EXPECT_EQ(errors(), 0u);
    EXPECT_EQ(started(), "abcd");
    EXPECT_EQ(errors(), 4u);
    EXPECT_FALSE(djs_user_exit_requested());
}

TEST_F(SessionLife, AbortIsNoError) {
    add(DJS_HANDLER_BEGIN, 0, [](djs_ctx* ctx) { djs_fn_abort(ctx); });
    add(DJS_HANDLER_BEGIN);
    add(DJS_HANDLER_END, 0, fails);
    load(5);
    EXPECT_EQ(started(), "a");
    EXPECT_TRUE(djs_user_exit_requested());
    EXPECT_EQ(errors(), 0u);
    EXPECT_EQ(stopped(), "c");
    EXPECT_EQ(errors(), 1u) << "a later error is one";
}

// Statements come in portions, between which a probe may pause.
TEST_F(SessionLife, StatementsUpToTheirLimit) {
    s32 first = 0, later = 0, all = 0;
    const auto count = [&](djs_ctx* ctx) {
        first = ctx->actions;
        later = ctx->more_actions;
        for (all = 0; --ctx->actions > 0 || djs_more_actions(ctx, 9); all++)
            ASSERT_LT(all, 100000);
        EXPECT_STREQ(ctx->error, "MAXACTION exceeded");
        EXPECT_EQ(ctx->error_place, 9u);
        ctx->error = nullptr;
    };
    add(DJS_HANDLER_BEGIN, 0, {}, 0, 500);
    add(DJS_HANDLER_BEGIN, 0, {}, 0, 25000);
    add(DJS_HANDLER_BEGIN, 0, [&](djs_ctx* ctx) {
        EXPECT_EQ(ctx->actions, 1000);
        EXPECT_EQ(ctx->more_actions, 0);
    });
    actions[0] = [&](djs_ctx* ctx) {
        count(ctx);
        EXPECT_EQ(first, 500);
        EXPECT_EQ(later, 0);
        EXPECT_EQ(all, 499);
    };
    actions[1] = [&](djs_ctx* ctx) {
        count(ctx);
        EXPECT_EQ(first, 10000);
        EXPECT_EQ(later, 15000);
        EXPECT_EQ(all, 24999);
    };
    load();
    EXPECT_EQ(started(), "abc");
}

TEST_F(SessionLife, StatementsThatTakeMoreThanAPortion) {
    load();
    djs_ctx context{};
    context.actions = -20000;
    context.more_actions = 25000;
    EXPECT_EQ(djs_more_actions(&context, 9), 1u);
    EXPECT_EQ(context.actions, 5000);
    EXPECT_EQ(context.more_actions, 0);
    EXPECT_EQ(context.error, nullptr);
    context.actions = -20000;
    context.more_actions = 20000;
    EXPECT_EQ(djs_more_actions(&context, 9), 0u);
    EXPECT_STREQ(context.error, "MAXACTION exceeded");
}

TEST_F(SessionLife, ItsRecordsHaveTheNumbersThatTheyNeed) {
    load();
    djs_ctx context{};
    u32 size;
    for (const u32 id : {DJS_RECORD_TEXT, DJS_RECORD_WARNING, DJS_RECORD_SYSTEM, DJS_RECORD_ERROR,
                         DJS_RECORD_SPECULATION}) {
        const bool numbered = id == DJS_RECORD_ERROR || id == DJS_RECORD_SPECULATION;
        ASSERT_TRUE(djs_record_text(&context, id, "a text", 77));
        const djs_record* record = last_record(size);
        ASSERT_EQ(size, sizeof(djs_record) + (numbered ? 24 : 16));
        EXPECT_EQ(record->id, id);
        const char* argument = reinterpret_cast<const char*>(record + 1);
        EXPECT_EQ(std::string(argument, 10), std::string("\6\0\0\0a text", 10));
        s64 number = 77;
        if (numbered)
            std::memcpy(&number, argument + 16, sizeof(number));
        EXPECT_EQ(number, 77);
    }
    djs_record_number(&context, DJS_RECORD_COMMIT, 5);
    ASSERT_EQ(last_record(size)->id, DJS_RECORD_COMMIT);
    EXPECT_EQ(size, sizeof(djs_record) + 8);
    EXPECT_EQ(*reinterpret_cast<const s64*>(last_record(size) + 1), 5);
    djs_record_plain(&context, DJS_RECORD_EXIT);
    EXPECT_EQ(last_record(size)->id, DJS_RECORD_EXIT);
    EXPECT_EQ(size, sizeof(djs_record));
}

TEST_F(SessionLife, ItsTextsAreHalfOfTheLongestRecord) {
    load();
    djs_ctx context{};
    u32 size, length;
    ASSERT_TRUE(
        djs_record_text(&context, DJS_RECORD_TEXT, std::string(DJS_RECORD_MAX, 'x').c_str(), 0));
    const djs_record* record = last_record(size);
    std::memcpy(&length, record + 1, sizeof(length));
    EXPECT_EQ(length, DJS_RECORD_MAX / 2);
    EXPECT_EQ(size, sizeof(djs_record) + DJS_ALIGN8(4 + DJS_RECORD_MAX / 2));
}

TEST_F(SessionLife, RecordsThatFindNoRoomAreNotThere) {
    load();
    djs_ctx context{};
    u32 written = 0, size;
    while (written < 10000 && djs_record_text(&context, DJS_RECORD_TEXT, "", 0))
        written++;
    EXPECT_EQ(written, 65536u / 24);
    djs_record_number(&context, DJS_RECORD_COMMIT, 5);
    EXPECT_EQ(last_record(size)->id, DJS_RECORD_TEXT);
    djs_record_plain(&context, DJS_RECORD_EXIT); // of 16 bytes
    EXPECT_EQ(last_record(size)->id, DJS_RECORD_EXIT);
    djs_record_plain(&context, DJS_RECORD_EXIT);
    djs_counts counts{};
    djs_user_counts(&counts);
    EXPECT_EQ(counts.lost_records, 3u);
}
