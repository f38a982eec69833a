// SPDX-License-Identifier: GPL-2.0-or-later
// Conditions of probes, executed: whoever may change one compares it with what was found before,
// and tells the runtime, which arms or disarms the probe's sites.
#include "loaded_script.h"

#include "include/script.h"
#include "include/statistic.h"

namespace djstap {
namespace {

class ComparedConditions : public LoadedScript {
  public: // for the functions of the kernel
    static inline ComparedConditions* test_ = nullptr;
    unsigned changes_ = 0;
    djs_ctx ctx_ = {};

  protected:
    void SetUp() override {
        test_ = this;
        LoadedScript::SetUp();
        if (HasFatalFailure())
            return;
        ctx_.scratch = code_.variable("scratch", 65536);
        code_.function("djs_conditions_changed", +[] { test_->changes_++; });
        code_.function(
            "djs_fail", +[](djs_ctx* ctx, const char* message, uint32_t) { ctx->error = message; });
        code_.function("djs_more_actions", +[](djs_ctx*, uint32_t) { return uint32_t{0}; });
    }
    // Runs a handler; returns how often the runtime was told of a change.
    unsigned run(unsigned handler) {
        changes_ = 0;
        ctx_.error = nullptr;
        ctx_.walked = ctx_.embedded_used = 77;
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_" + std::to_string(handler)))(&ctx_);
        return changes_;
    }
    uint32_t& state(unsigned condition) {
        return (&code_.as<uint32_t>("djs_condition_states"))[condition];
    }
};

} // namespace

TEST_F(ComparedConditions, ChangesAreTold) {
    load("global n, m, c, k\n"
         "probe timer.s(1) { n = m }\n"
         "probe timer.s(2) if (n > 3) { c = c + 1 }\n"
         "probe timer.s(3) if (k == 2) { c = c + 10 }\n"
         "probe timer.s(4) { n = 7 / m }\n"
         "probe timer.s(5) { k = m; n = m }\n"
         "probe timer.s(6) { m = get_cycles() }\n"
         "probe begin { n = 9 }\n"
         "probe end { println(n, m, c, k) }");
    struct Case {
        int64_t value;
        uint32_t before;
        unsigned changes;
    };
    for (const auto& [value, before, changes] : {Case{5, 0, 1}, Case{5, 1, 0}, Case{4, 1, 0},
                                                 Case{3, 1, 1}, Case{3, 0, 0}, Case{2, 0, 0}}) {
        number("m") = value;
        state(0) = before;
        state(1) = 1; // of what this handler cannot change
        EXPECT_EQ(run(0), changes) << value;
        EXPECT_EQ(number("n"), value);
        EXPECT_EQ(state(0), before) << "the runtime has it in its hands";
        EXPECT_EQ(ctx_.walked, 77u);
        EXPECT_EQ(ctx_.embedded_used, 77u);
    }
    // Of two conditions each is compared.
    struct Both {
        int64_t value;
        uint32_t second;
        unsigned changes;
    };
    for (const auto& [value, second, changes] :
         {Both{5, 1, 2}, Both{5, 0, 1}, Both{2, 1, 0}, Both{3, 1, 1}, Both{3, 0, 0}}) {
        number("m") = value;
        state(0) = 0;
        state(1) = second;
        EXPECT_EQ(run(4), changes) << value;
    }
    // An error does not determine the condition: the runtime looks again.
    number("m") = 0;
    number("n") = 5;
    state(0) = 1;
    EXPECT_EQ(run(3), 1u);
    EXPECT_STREQ(ctx_.error, "division by 0");
    number("m") = 1;
    EXPECT_EQ(run(3), 0u); // 7 > 3
    EXPECT_EQ(number("n"), 7);
    // Before the session begins nothing is armed.
    state(0) = 0;
    EXPECT_EQ(run(6), 0u);
    EXPECT_EQ(number("n"), 9);
    EXPECT_EQ(run(5), 0u); // no condition depends on it
}

// A site may be hit once more before it is disarmed.
TEST_F(ComparedConditions, HandlersAskTheirOwn) {
    load("global n, c\nprobe timer.s(1) { n = get_cycles() }\n"
         "probe timer.s(2) if (n > 3) { c = c + 1 }\nprobe end { println(n, c) }");
    for (const auto& [value, hits] : {std::pair{4, 1}, {3, 1}, {-1, 1}, {7, 2}}) {
        number("n") = value;
        EXPECT_EQ(run(1), 0u);
        EXPECT_EQ(number("c"), hits) << value;
    }
}

// -t: how long the body takes is added to a statistic, unless the condition keeps it from running.
TEST_F(ComparedConditions, BodiesAreTimed) {
    test::Analysis analysis("global n, c\nprobe timer.s(1) if (n > 3) { c = c + 1 }\n"
                            "probe timer.s(2) { n = get_cycles() }\nprobe end { println(n, c) }",
                            {.guru = true, .times_probes = true});
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const program::Global* const timing = analysis.program->probes[0]->timing;
    ASSERT_TRUE(timing);
    const std::string name = timing->name;
    const auto object = script_.compile(analysis);
    ASSERT_TRUE(object);
    object_ = object->object;
    code_.load(object_);
    code_.as<char*>("djs_global_" + name) = code_.variable("times", 4096);
    djs_statistic& times = code_.as<djs_statistic>("times");
    times.min = INT64_MAX;
    number("n") = 3;
    run(0);
    EXPECT_EQ(times.count, 0);
    EXPECT_EQ(number("c"), 0);
    number("n") = 4;
    for (int i = 1; i <= 3; i++) {
        run(0);
        EXPECT_EQ(times.count, i);
        EXPECT_EQ(number("c"), i);
    }
    EXPECT_GT(times.sum, 0);
}

// What limits a run begins again with it.
TEST_F(ComparedConditions, WalksBeginWithNone) {
    code_.function("djs_foreach_begin", +[](djs_ctx* ctx) { EXPECT_EQ(ctx->walked, 0u); });
    code_.function("djs_foreach_next", +[] { return uint32_t{0}; });
    load("global a, n\nprobe timer.s(1) { foreach (k in a) n = n + k }\n"
         "probe end { a[1] = 2; println(n, a[1]) }");
    ctx_.actions = 10;
    run(0);
    EXPECT_EQ(ctx_.walked, 0u);
    EXPECT_EQ(ctx_.embedded_used, 77u);
    EXPECT_EQ(ctx_.error, nullptr);
    EXPECT_LT(ctx_.actions, 10);
}

} // namespace djstap
