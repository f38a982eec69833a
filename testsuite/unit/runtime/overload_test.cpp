// SPDX-License-Identifier: GPL-2.0-or-later
// Which handler is found to take too much of a processor's time, and when.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "overload_for_test.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

namespace {

constexpr u32 nobody = DJS_NO_INDEX;
// Where the script's code begins, behind the runtime's, and what is there.
constexpr unsigned long script = TEST_TEXT + 0x4000;

std::string taken_out;

template <typename Function> Function* code(unsigned long address) {
    return reinterpret_cast<Function*>(address); // NOLINT: nothing is called
}

class Overload : public testing::Test {
  protected:
    void SetUp() override {
        test_overload_reset();
        taken_out.clear();
        handlers_[0].body = code<djs_body_function>(script);
        handlers_[0].entry = code<djs_body_function>(script + 0x100);
        handlers_[1].by_regs = code<djs_regs_function>(script + 0x200);
        handlers_[1].body = code<djs_body_function>(script + 0x280);
        handlers_[2].tracepoint = code<djs_code>(script + 0x300);
        handlers_[2].by_ftrace = code<djs_code>(script + 0x400);
        trampoline_.direct = code<djs_code>(script + 0x500);
        sites_[1].mechanism = DJS_MECHANISM_TIMER;
        djs_script.handlers = handlers_;
        djs_script.handler_count = 3;
        djs_script.sites = sites_;
        djs_script.site_count = 2;
        djs_script.trampolines = &trampoline_;
        djs_script.trampoline_count = 1;
        djs_script.overload_ms = 100;
        djs_script.overload_percent = 50;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        djs_overload_stop();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    static void begin() {
        djs_overload_start([](u32 owner, u32 percent) {
            taken_out += std::to_string(owner) + ": " + std::to_string(percent) + " %\n";
        });
        test_overload_log[0] = 0;
    }
    static std::string log() { return taken_log(test_overload_log); }
    static std::string result() {
        test_overload_work();
        std::string all = taken_out;
        taken_out.clear();
        return all;
    }
    // The handlers whose contexts are busy in each of the samples; '-': none.
    void sample(const std::string& owners) {
        for (const char owner : owners) {
            test_overload_now += 1000;
            test_contexts[0].handler = owner == '-' ? nullptr : &handlers_[owner - '0'];
            test_contexts[0].busy = owner == '-' ? 0 : DJS_BUSY_UNLOCKED;
            test_overload_sample(1);
        }
        test_contexts[0].busy = 0;
    }
    // Whom a sample finds at an address.
    u32 at(unsigned long address) {
        test_contexts[0].busy = 0;
        test_contexts[0].handler = nullptr;
        test_interrupted = address;
        return found();
    }
    static u32 found() {
        for (int i = 0; i < 10; i++) {
            test_overload_now += 1000;
            test_overload_sample(1);
        }
        const std::string all = result();
        return all.empty() ? nobody : static_cast<u32>(std::stoul(all));
    }

    djs_handler handlers_[3]{};
    djs_trampoline trampoline_{};
    djs_site sites_[2]{};
};

TEST_F(Overload, TheHandlerThatRunsInMostSamples) {
    begin();
    sample("111111111");
    EXPECT_EQ(result(), "");
    sample("1");
    EXPECT_EQ(result(), "1: 100 %\n");
    sample("0111122---");
    EXPECT_EQ(result(), "1: 70 %\n");
    sample("0002222---");
    EXPECT_EQ(result(), "2: 70 %\n");
}

TEST_F(Overload, FromThePercentageOn) {
    begin();
    sample("0000------");
    EXPECT_EQ(result(), "");
    sample("0000------");
    EXPECT_EQ(result(), "");
    sample("0-0-0-0-0-");
    EXPECT_EQ(result(), "0: 50 %\n");
    sample("----------");
    EXPECT_EQ(result(), "");
    sample("-----00000");
    EXPECT_EQ(result(), "0: 50 %\n");
}

// Nothing is left of the time before.
TEST_F(Overload, EachPeriodIsJudgedByItself) {
    begin();
    sample("0000------");
    sample("11122-----");
    EXPECT_EQ(result(), "1: 50 %\n");
}

TEST_F(Overload, NobodyHasMostOfIt) {
    begin();
    sample("0202020202");
    EXPECT_EQ(result(), "");
}

TEST_F(Overload, IsNotTakenOutAgainBeforeThat) {
    begin();
    sample("0000000000");
    sample("1111111111");
    EXPECT_EQ(log(), "work\n");
    EXPECT_EQ(result(), "0: 100 %\n");
    sample("1111111111");
    EXPECT_EQ(log(), "work\n");
    EXPECT_EQ(result(), "1: 100 %\n");
}

TEST_F(Overload, ASampleStandsForThoseThatWereMissed) {
    begin();
    test_contexts[0].handler = &handlers_[2];
    test_contexts[0].busy = DJS_BUSY_LOCKED;
    test_overload_now += 4000;
    test_overload_sample(4);
    test_overload_now += 5000;
    test_overload_sample(5);
    EXPECT_EQ(result(), "");
    test_overload_now += 1000;
    test_overload_sample(1);
    EXPECT_EQ(result(), "2: 100 %\n");
    djs_script.overload_ms = 1010;
    test_overload_sample(100000);
    EXPECT_EQ(log(), "work\n");
    test_overload_now += 1000;
    test_overload_sample(1);
    EXPECT_EQ(log(), "work\n");
}

TEST_F(Overload, APeriodHasASample) {
    djs_script.overload_ms = 9;
    begin();
    sample("1");
    EXPECT_EQ(result(), "1: 100 %\n");
}

TEST_F(Overload, TimeThatHandlersCountThemselves) {
    djs_script.overload_percent = 29;
    begin();
    for (int i = 0; i < 10; i++) {
        test_overload_now += 1001; // odd: a begin is rounded up to that
        EXPECT_TRUE(djs_overload_begin());
        EXPECT_FALSE(djs_overload_begin());
        test_overload_now += 599;
        djs_overload_end(&handlers_[2]);
        test_overload_now += 400;
        test_overload_sample(1);
    }
    EXPECT_EQ(result(), "2: 29 %\n");
}

TEST_F(Overload, OwnTimeCountsOnceAndTheRestIsOfWhomIsSeen) {
    begin();
    for (int i = 0; i < 10; i++) {
        test_overload_now += 1;
        EXPECT_TRUE(djs_overload_begin());
        test_overload_now += 600;
        djs_overload_end(&handlers_[0]);
        test_overload_now += 399;
        test_contexts[0].handler = &handlers_[1];
        test_contexts[0].busy = DJS_BUSY_UNLOCKED;
        test_overload_sample(1);
    }
    EXPECT_EQ(result(), "0: 100 %\n");
    for (int i = 0; i < 10; i++) {
        test_overload_now += 1;
        EXPECT_TRUE(djs_overload_begin());
        test_overload_now += 400;
        djs_overload_end(&handlers_[0]);
        test_overload_now += 599;
        test_overload_sample(1);
    }
    EXPECT_EQ(result(), "1: 100 %\n");
}

// It began before the sample at which it would have been counted.
TEST_F(Overload, OwnTimeIsNoMoreThanThatSinceTheLastSample) {
    begin();
    test_overload_now += 1;
    EXPECT_TRUE(djs_overload_begin());
    test_overload_now += 999;
    for (int i = 0; i < 9; i++)
        test_overload_sample(1);
    EXPECT_EQ(result(), "");
    test_overload_now += 1000;
    djs_overload_end(&handlers_[1]);
    test_overload_sample(1);
    EXPECT_EQ(result(), "1: 50 %\n");
}

TEST_F(Overload, ATimeThatIsLessThanNothingDoesNotCount) {
    djs_script.overload_percent = 10;
    begin();
    EXPECT_TRUE(djs_overload_begin()); // at an even number: the next one is kept
    djs_overload_end(&handlers_[1]);
    EXPECT_TRUE(djs_overload_begin());
    test_overload_now += 1;
    djs_overload_end(&handlers_[1]);
    sample("----------");
    EXPECT_EQ(result(), "");
    djs_script.overload_percent = 0;
    EXPECT_FALSE(djs_overload_begin());
}

TEST_F(Overload, TheHighestContextThatIsBusy) {
    begin();
    for (int i = 0; i < 4; i++)
        test_contexts[i].handler = &handlers_[i % 3];
    test_contexts[3].busy = DJS_BUSY_UNLOCKED; // that of NMIs
    EXPECT_EQ(found(), nobody);
    test_contexts[0].busy = DJS_BUSY_UNLOCKED;
    EXPECT_EQ(found(), 0U);
    test_contexts[1].busy = DJS_BUSY_UNLOCKED;
    EXPECT_EQ(found(), 1U);
    test_contexts[2].busy = DJS_BUSY_UNLOCKED;
    EXPECT_EQ(found(), 2U);
    test_contexts[2].handler = nullptr; // a helper of raise()
    EXPECT_EQ(found(), nobody);
}

TEST_F(Overload, ThatOfTheCode) {
    begin();
    EXPECT_EQ(at(script), 0U);
    EXPECT_EQ(at(script + 0xff), 0U);
    EXPECT_EQ(at(script + 0x100), 0U);
    EXPECT_EQ(at(script + 0x1ff), 0U);
    EXPECT_EQ(at(script + 0x200), 1U);
    EXPECT_EQ(at(script + 0x290), 1U);
    EXPECT_EQ(at(script + 0x300), 2U);
    EXPECT_EQ(at(script + 0x4ff), 2U);
    EXPECT_EQ(at(script + 0x500), 3U); // the trampoline
    EXPECT_EQ(at(TEST_TEXT + TEST_TEXT_BYTES - 1), 3U);
    EXPECT_EQ(at(TEST_TEXT + TEST_TEXT_BYTES), nobody); // data
    EXPECT_EQ(at(script - 1), nobody);                  // the runtime
    EXPECT_EQ(at(TEST_TEXT - 1), nobody);
    EXPECT_EQ(at(TEST_TEXT + 2 * TEST_TEXT_BYTES), nobody);
    test_in_user_mode = true;
    EXPECT_EQ(at(script), nobody);
    test_in_user_mode = false;
    test_has_registers = false;
    EXPECT_EQ(at(script), nobody);
}

// Without one of them, its code would be that of the handler before it.
TEST_F(Overload, ThatOfTheCodeInAnyOfItsForms) {
    for (djs_handler& handler : handlers_)
        handler = {};
    handlers_[2].body = code<djs_body_function>(script);
    handlers_[0].body = code<djs_body_function>(script + 0x100);
    handlers_[1].entry = code<djs_body_function>(script + 0x200);
    handlers_[0].tracepoint = code<djs_code>(script + 0x300);
    handlers_[1].by_regs = code<djs_regs_function>(script + 0x400);
    handlers_[0].by_ftrace = code<djs_code>(script + 0x500);
    trampoline_.direct = code<djs_code>(script + 0x600);
    begin();
    EXPECT_EQ(at(script), 2U);
    EXPECT_EQ(at(script + 0x100), 0U);
    EXPECT_EQ(at(script + 0x200), 1U);
    EXPECT_EQ(at(script + 0x300), 0U);
    EXPECT_EQ(at(script + 0x400), 1U);
    EXPECT_EQ(at(script + 0x500), 0U);
    EXPECT_EQ(at(script + 0x600), 3U);
}

TEST_F(Overload, ThatOfTheRuntimesCaller) {
    begin();
    const unsigned long runtime = TEST_TEXT + 0x100;
    test_stack[0] = TEST_TEXT + 0x200;                   // another function of the runtime
    test_stack[1] = TEST_TEXT + TEST_TEXT_BYTES + 0x100; // data
    test_stack[47] = script + 0x410;
    test_stack[48] = script;
    EXPECT_EQ(at(runtime), 2U);
    test_stack[0] = script + 0x210;
    EXPECT_EQ(at(runtime), 1U);
    test_stack[0] = test_stack[47] = 0;
    EXPECT_EQ(at(runtime), nobody);
    // Its context may have been released already.
    test_contexts[0].handler = &handlers_[0];
    test_contexts[1].handler = &handlers_[1];
    EXPECT_EQ(found(), 0U);
    test_in_softirq = true;
    EXPECT_EQ(found(), 1U);
}

TEST_F(Overload, IsLookedForWhereHandlersTakeTime) {
    EXPECT_EQ(log(), "");
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "timer: 10000000\n");
    djs_overload_stop();
    EXPECT_EQ(log(), "state 77\nno timer\nno work\n");
    djs_overload_stop();
    EXPECT_EQ(log(), "");
    // Counters alone; with a lock; begin and end probes.
    sites_[1].handler = 1;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "");
    handlers_[1].lock_count = 1;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "timer: 10000000\n");
    djs_overload_stop();
    log();
    sites_[1].mechanism = DJS_MECHANISM_NONE;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "");
    sites_[0].mechanism = DJS_MECHANISM_KPROBE;
    djs_script.overload_percent = 0;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "");
    djs_script.overload_percent = 1;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "timer: 10000000\n");
}

TEST_F(Overload, IsNotLookedForWithoutMemoryOrTimers) {
    test_allocations_left = 0;
    djs_overload_start(nullptr);
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(log(), "no overload protection (error -12)\n");
    djs_overload_stop();
    EXPECT_EQ(log(), "");
    test_hotplug_error = -5;
    djs_overload_start(nullptr);
    EXPECT_EQ(log(), "no overload protection (error -5)\n");
    djs_overload_stop();
    EXPECT_EQ(log(), "");
}

} // namespace
