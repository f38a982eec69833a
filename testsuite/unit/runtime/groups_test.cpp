// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions share an ftrace_ops, what happens to the others when the kernel refuses some, and
// what is detached.
#include "globals_for_test.h"
#include "groups_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <initializer_list>
#include <string>

namespace {

class Groups : public testing::Test {
  protected:
    void SetUp() override {
        test_groups_begin(false, false);
        djs_script.site_count = TEST_FUNCTIONS;
        djs_script.handler_count = djs_script.trampoline_count = 3;
        djs_script.image_count = 2;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_groups_begin(false, false);
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    static void want(std::initializer_list<int> functions, u32 number = 0) {
        for (const int i : functions) {
            test_functions[i].taken = test_functions[i].wanted = true;
            test_functions[i].number = number;
        }
    }
    static std::string log() { return taken_log(test_groups_log); }
    static std::string attach() {
        EXPECT_EQ(test_groups_attach(), 0);
        return log();
    }
    static std::string detach() {
        test_groups_detach();
        return log();
    }
    static std::string armed() {
        std::string numbers;
        for (int i = 0; i < TEST_FUNCTIONS; i++) {
            EXPECT_EQ(test_functions[i].armed, test_functions[i].has_group) << i;
            if (test_functions[i].armed)
                numbers += std::to_string(i);
        }
        return numbers;
    }
};

TEST_F(Groups, AreThoseOfANumberTheLastOneFirst) {
    want({0, 3}, 0);
    want({1, 4}, 2);
    test_functions[5] = test_functions[4];
    test_functions[5].taken = false;
    EXPECT_EQ(attach(), "attach 2: 1 4\nattach 0: 0 3\n");
    EXPECT_EQ(armed(), "0134");
    EXPECT_EQ(attach(), "");
    want({2, 5}, 1);
    EXPECT_EQ(attach(), "attach 1: 2 5\n");
    EXPECT_EQ(armed(), "012345");
    EXPECT_EQ(detach(), "");
}

TEST_F(Groups, AreThoseOfAnImage) {
    want({0, 1, 2, 3});
    want({4, 5}, 1);
    for (const int i : {1, 3, 5})
        test_functions[i].image = 1;
    EXPECT_EQ(attach(), "attach 1: 4\nattach 0: 0 2\nattach 1: 5\nattach 0: 1 3\n");
    EXPECT_EQ(armed(), "012345");
}

TEST_F(Groups, IsOneForAHandlerOfTheKernelAlone) {
    djs_script.image_count = djs_script.handler_count = 1;
    want({0, 2, 5});
    EXPECT_EQ(attach(), "attach 0: 0 2 5\n");
    EXPECT_EQ(armed(), "025");
}

// Which two numbers, or two images, must not be taken for.
TEST_F(Groups, AreSeveralForOneHandlerOfTwoImagesAndTheOtherWayAround) {
    djs_script.handler_count = 1;
    want({0, 1});
    test_functions[1].image = 1;
    EXPECT_EQ(attach(), "attach 0: 0\nattach 0: 1\n");
    test_groups_begin(false, false);
    djs_script.handler_count = 2;
    djs_script.image_count = 1;
    want({0});
    want({1}, 1);
    EXPECT_EQ(attach(), "attach 1: 1\nattach 0: 0\n");
}

TEST_F(Groups, OfWhichAnotherUserHasOne) {
    want({0, 1, 2, 3, 4});
    test_functions[2].busy = test_functions[2].is_in_use = true;
    EXPECT_EQ(
        attach(),
        "attach 0: 0 1 2 3 4 refused\nattach 0: 0 1 3 4\nattach 0: 2 refused\nrefused 2 (-16)\n");
    EXPECT_EQ(armed(), "0134");
    EXPECT_EQ(test_functions[2].error, -EBUSY);
    EXPECT_EQ(attach(), "");
}

// An ops with others does not prevent another one: only the kernel knows.
TEST_F(Groups, AreHalvedUntilTheRefusedOneIsFound) {
    want({0, 1, 2, 3, 4});
    test_functions[3].busy = true;
    EXPECT_EQ(attach(),
              "attach 0: 0 1 2 3 4 refused\nattach 0: 0 1 2 3 4 refused\nattach 0: 0 1\n"
              "attach 0: 2 3 4 refused\nattach 0: 2\nattach 0: 3 4 refused\nattach 0: 3 refused\n"
              "refused 3 (-16)\nattach 0: 4\n");
    EXPECT_EQ(armed(), "0124");
}

TEST_F(Groups, AllOfWhoseFunctionsAreInUse) {
    want({0, 1});
    for (const int i : {0, 1})
        test_functions[i].busy = test_functions[i].is_in_use = true;
    EXPECT_EQ(attach(),
              "attach 0: 0 1 refused\nattach 0: 0 1 refused\nattach 0: 0 refused\nrefused 0 (-16)\n"
              "attach 0: 1 refused\nrefused 1 (-16)\n");
    EXPECT_EQ(armed(), "");
}

TEST_F(Groups, OfTrampolinesHaveAllTheirSites) {
    test_groups_begin(true, false);
    want({0, 1, 2, 3});
    test_functions[0].next = 2;
    test_functions[1].next = 3;
    test_functions[1].busy = true;
    EXPECT_EQ(attach(),
              "attach 0: 0 1 refused\nattach 0: 0 1 refused\nattach 0: 0\nattach 0: 1 refused\n"
              "refused 1 (-16)\nrefused 3 (-16)\n");
    EXPECT_EQ(armed(), "02");
    for (const int i : {0, 2})
        test_functions[i].wanted = false;
    EXPECT_EQ(detach(), "disconnect 0\nrelease 0\n");
    EXPECT_EQ(armed(), "");
}

// Each handler has an ops of its own there.
TEST_F(Groups, OfHandlersHaveNoOtherSitesOfTheFunction) {
    want({0, 1});
    test_functions[0].next = 1;
    want({1}, 1);
    EXPECT_EQ(attach(), "attach 1: 1\nattach 0: 0\n");
    test_functions[0].wanted = false;
    EXPECT_EQ(detach(), "disconnect 0\nrelease 0\n");
    EXPECT_EQ(armed(), "1");
}

TEST_F(Groups, ForWhichThereIsNoMemory) {
    want({0, 1}, 2);
    want({2});
    test_attach_error = -ENOMEM;
    EXPECT_EQ(test_groups_attach(), -ENOMEM);
    EXPECT_EQ(log(), "attach 2: 0 1 refused\n");
    test_attach_error = 0;
    test_filter_error = -ENOMEM;
    EXPECT_EQ(test_groups_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
    test_filter_error = 0;
    EXPECT_EQ(armed(), "");
    EXPECT_EQ(guarded_count(), 0U);
    long allowed = 0;
    for (int error = -ENOMEM; error != 0; allowed++) {
        ASSERT_LT(allowed, 20);
        test_allocations_left = allowed;
        error = test_groups_attach();
        test_allocations_left = LONG_MAX;
        EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
    }
    // Three for all and two for each group, the first of which has been attached before.
    EXPECT_EQ(allowed, 7);
    EXPECT_EQ(log(), "attach 2: 0 1\nattach 0: 2\n");
    EXPECT_EQ(armed(), "012");
}

TEST_F(Groups, WithoutAFunctionNeedNoMemory) {
    test_functions[0].taken = true;
    test_functions[1].wanted = true;
    test_allocations_left = 0;
    EXPECT_EQ(attach(), "");
}

TEST_F(Groups, AreDetachedWhenNoneOfTheirSitesIsWanted) {
    test_groups_begin(false, true);
    want({0, 3}, 0);
    want({1, 4}, 1);
    want({2}, 2);
    attach();
    for (const int i : {0, 3, 2})
        test_functions[i].wanted = false;
    // One wait for both; the last one was attached first.
    EXPECT_EQ(detach(), "disconnect 2\ndisconnect 0\ndrain\nrelease 2\nrelease 0\n");
    EXPECT_EQ(armed(), "14");
    EXPECT_EQ(detach(), "");
    EXPECT_EQ(guarded_count(), 1U);
    test_functions[0].wanted = true;
    EXPECT_EQ(attach(), "attach 0: 0\n");
}

TEST_F(Groups, ThatTheKernelKeepsStayForEver) {
    test_groups_begin(false, true);
    want({0, 1, 2});
    attach();
    for (const int i : {0, 1, 2})
        test_functions[i].wanted = false;
    test_disconnect_error = -ENODEV;
    EXPECT_EQ(detach(), "disconnect 0\npinned 3 (-19)\n");
    EXPECT_EQ(armed(), "012");
    test_disconnect_error = 0;
    EXPECT_EQ(detach(), "");
    EXPECT_EQ(armed(), "012");
}

TEST_F(Groups, AreNotTouchedWhenFtraceIsDead) {
    want({0, 1}, 1);
    attach();
    test_functions[0].wanted = test_functions[1].wanted = false;
    test_groups_ftrace_dead = true;
    EXPECT_EQ(detach(), "pinned 2 (-19)\n");
    EXPECT_EQ(armed(), "01");
}

} // namespace
