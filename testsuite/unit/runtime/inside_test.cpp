// SPDX-License-Identifier: GPL-2.0-or-later
// How long, and for whom, a module waits that has calls of probed functions to return to.
#include "include/script.h"
#include "inside_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <string>

namespace {

constexpr unsigned long start = 1000;

class Inside : public testing::Test {
  protected:
    void SetUp() override {
        test_inside_begin();
        djs_inside_expect();
    }

    static std::string log() { return taken_log(test_inside_log); }
    static std::string drain() {
        djs_inside_drain();
        return log();
    }
    static std::string finish() {
        djs_inside_finish();
        return log();
    }
    static std::string work() {
        test_linger_work();
        return log();
    }
    static unsigned long waited() { return test_inside_now - start; }
    // The module lingers because of some calls, of tasks whose stacks say so.
    static void linger(s64 calls) {
        test_calls_inside = calls;
        test_anybody_inside = true;
        test_inside_slept = [] { test_last_found_inside = test_inside_now >= start + 510; };
        drain();
        test_inside_slept = nullptr;
    }
};

TEST_F(Inside, NobodyCanBeWithoutReturns) {
    test_inside_begin();
    test_calls_inside = 1;
    EXPECT_EQ(drain(), "");
    EXPECT_EQ(djs_inside_count(), 0U);
    EXPECT_EQ(finish(), "cancel\nforget\n");
}

TEST_F(Inside, NobodyIs) {
    EXPECT_EQ(drain(), "drain\n");
    EXPECT_EQ(waited(), 0U);
    EXPECT_EQ(djs_inside_count(), 0U);
    EXPECT_EQ(test_inside_gate, 0U);
    EXPECT_EQ(finish(), "cancel\nforget\n");
}

// The stacks of tasks are not looked at yet.
TEST_F(Inside, ACallThatReturnsSoon) {
    test_calls_inside = 1;
    test_inside_slept = [] { test_calls_inside = test_inside_now < start + 490; };
    EXPECT_EQ(drain(), "drain\n");
    EXPECT_EQ(waited(), 490U);
    EXPECT_EQ(test_inside_gate, 0U);
}

TEST_F(Inside, ACallWhoseTaskHasDied) {
    test_calls_inside = 1;
    EXPECT_EQ(drain(),
              "peek\nlook\ndrain\nlook\n1 call of a probed function ended with its task\ndrain\n");
    EXPECT_EQ(waited(), 500U);
    EXPECT_EQ(djs_inside_count(), 0U);
    EXPECT_EQ(finish(), "cancel\nforget\n");
}

TEST_F(Inside, CallsWhoseTasksHaveDied) {
    test_calls_inside = 3;
    EXPECT_EQ(
        drain(),
        "peek\nlook\ndrain\nlook\n3 calls of probed functions ended with their tasks\ndrain\n");
    // Those are not waited for again.
    EXPECT_EQ(drain(), "3 calls of probed functions ended with their tasks\ndrain\n");
    EXPECT_EQ(waited(), 500U);
}

// The first look does not find a task that is exiting; it has left its function before the second
// one.
TEST_F(Inside, ACallThatReturnsBetweenTwoLooks) {
    test_calls_inside = 1;
    test_inside_drained = [] { test_calls_inside = 0; };
    EXPECT_EQ(drain(), "peek\nlook\ndrain\ndrain\n");
    EXPECT_EQ(waited(), 500U);
}

// The second look finds one that was not in any list during the first one.
TEST_F(Inside, ATaskThatOnlyTheSecondLookFinds) {
    test_calls_inside = 1;
    test_inside_drained = [] { test_anybody_inside = true; };
    EXPECT_EQ(drain(),
              "peek\nlook\ndrain\nlook\npeek\nlook\ndrain\n1 call of a probed function has not "
              "returned: sleep (7)\nreference\nlater: 200\n");
    EXPECT_EQ(djs_inside_count(), 1U);
}

TEST_F(Inside, TasksThatStayAreNamed) {
    test_calls_inside = 2;
    test_anybody_inside = true;
    // The first look finds the task at which the second one looks.
    test_inside_slept = [] { test_last_found_inside = test_inside_now >= start + 510; };
    EXPECT_EQ(drain(),
              "peek\nlook\npeek\ndrain\n2 calls of probed functions have not returned: sleep (7)\n"
              "reference\nlater: 200\n");
    EXPECT_EQ(waited(), 2000U);
    EXPECT_EQ(djs_inside_count(), 2U);
    EXPECT_EQ(test_inside_gate, DJS_HANDLER_MAY_LINGER);
    test_calls_inside = -1; // one returned on another processor, whose count was not seen yet
    EXPECT_EQ(djs_inside_count(), 0U);
}

TEST_F(Inside, OneTaskThatStaysIsNamed) {
    test_calls_inside = 1;
    test_anybody_inside = true;
    EXPECT_EQ(
        drain(),
        "peek\nlook\npeek\nlook\ndrain\n1 call of a probed function has not returned: sleep (7)\n"
        "reference\nlater: 200\n");
}

TEST_F(Inside, TheModuleGoesWhenTheyHaveReturned) {
    linger(2); // the next look is 2500 ms after the start
    EXPECT_EQ(work(), "later: 200\n");
    test_inside_now = start + 2500;
    EXPECT_EQ(work(), "peek\nlater: 200\n");
    test_calls_inside = 1;
    EXPECT_EQ(work(), "later: 200\n");
    EXPECT_EQ(djs_inside_count(), 1U);
    test_calls_inside = 0;
    test_calls_of_current = 1;
    EXPECT_EQ(work(), "later: 200\n");
    test_calls_of_current = 0;
    EXPECT_EQ(work(), "drain\nreference given back\n");
    EXPECT_EQ(djs_inside_count(), 0U);
    EXPECT_EQ(finish(), "cancel\nforget\n");
}

TEST_F(Inside, TheModuleGoesWhenTheyHaveDied) {
    linger(1);
    test_inside_now = start + 2500;
    test_anybody_inside = test_last_found_inside = false;
    EXPECT_EQ(work(), "peek\nlook\ndrain\nlook\ndrain\nreference given back\n");
    EXPECT_EQ(djs_inside_count(), 0U);
}

// The longer some task stays, the less often all are looked at.
TEST_F(Inside, LooksBecomeRarer) {
    linger(1);
    test_last_found_inside = false;
    unsigned long next = start + 2500;
    for (const unsigned long interval : {2000U, 4000U, 8000U, 10000U, 10000U}) {
        test_inside_now = next - 1;
        EXPECT_EQ(work(), "later: 200\n") << next;
        test_inside_now = next;
        EXPECT_EQ(work(), "peek\nlook\nlater: 200\n") << next;
        next += interval;
    }
    // A task that was found is looked at as often as before.
    test_last_found_inside = true;
    test_inside_now = next;
    EXPECT_EQ(work(), "peek\nlater: 200\n");
    test_inside_now = next + 9999;
    EXPECT_EQ(work(), "later: 200\n");
}

TEST_F(Inside, ItsOwnCallsReturnAfterThisOne) {
    test_calls_inside = test_calls_of_current = 1;
    EXPECT_EQ(drain(), "drain\nreference\nlater: 10\n");
    EXPECT_EQ(waited(), 0U);
    EXPECT_EQ(test_inside_gate, DJS_HANDLER_MAY_LINGER);
    EXPECT_EQ(djs_inside_count(), 1U);
}

TEST_F(Inside, OthersThanItsOwnCallsHaveDied) {
    test_calls_inside = 3;
    test_calls_of_current = 1;
    EXPECT_EQ(drain(),
              "peek\nlook\ndrain\nlook\n2 calls of probed functions ended with their tasks\ndrain\n"
              "reference\nlater: 10\n");
    EXPECT_EQ(djs_inside_count(), 1U);
}

TEST_F(Inside, UnloadingWaitsWithoutALimit) {
    test_module_goes = true;
    test_calls_inside = 1;
    test_anybody_inside = test_last_found_inside = true;
    EXPECT_EQ(
        drain(),
        "peek\npeek\npeek\npeek\ndrain\n1 call of a probed function has not returned: sleep (7)\n"
        "no reference\n");
    test_inside_now = start + 100'000;
    test_inside_slept = [] { test_calls_inside = test_inside_now < start + 100'600; };
    EXPECT_EQ(finish(), "cancel\ndjstap: unloading waits until all calls have returned\npeek\n"
                        "forget\ndrain\n");
    EXPECT_EQ(waited(), 100'600U);
    EXPECT_EQ(djs_inside_count(), 0U);
}

TEST_F(Inside, UnloadingWaitsForItsOwnTask) {
    test_module_goes = true;
    test_calls_inside = test_calls_of_current = 1;
    EXPECT_EQ(drain(), "drain\nno reference\n");
    test_calls_inside = 0;
    test_inside_slept = [] { test_calls_of_current = test_inside_now < start + 400; };
    EXPECT_EQ(finish(), "cancel\nforget\ndrain\n");
    EXPECT_EQ(waited(), 400U);
}

} // namespace
