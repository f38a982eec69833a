// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/printed_order.h"

#include <gtest/gtest.h>

namespace djstap::hosts {
namespace {

using Clock = PrintedOrder::Clock;
using std::chrono::seconds;

class Order : public testing::Test {
  protected:
    std::string passed() {
        std::string text;
        order_.pass(now_, [&](size_t host, int64_t, const std::string& record) {
            text += std::to_string(host) + record + " ";
        });
        return text;
    }
    std::string rest() {
        std::string text;
        order_.pass_all([&](size_t host, int64_t, const std::string& record) {
            text += std::to_string(host) + record + " ";
        });
        return text;
    }
    void begin(size_t hosts) {
        for (size_t i = 0; i < hosts; i++)
            order_.begin(i, now_);
    }

    Clock::time_point now_{};
    PrintedOrder order_{3, seconds(3)};
};

TEST_F(Order, WaitsUntilNoHostCanHaveAnEarlierRecord) {
    begin(2);
    order_.take(0, 10, "a", now_);
    order_.take(0, 30, "c", now_);
    EXPECT_EQ(passed(), "");
    order_.take(1, 20, "b", now_);
    EXPECT_EQ(passed(), "0a 1b ");
    order_.reach(1, 40, now_);
    EXPECT_EQ(passed(), "0c ");
}

TEST_F(Order, GoesByHostsAtTheSameTime) {
    begin(2);
    order_.take(1, 10, "b", now_);
    order_.take(0, 10, "a", now_);
    order_.take(0, 10, "a", now_);
    EXPECT_EQ(passed(), "0a 0a 1b ");
}

TEST_F(Order, DoesNotWaitForHostsThatHaveEndedOrNotBegun) {
    begin(2);
    order_.take(0, 10, "a", now_);
    EXPECT_EQ(passed(), "");
    order_.end(1);
    EXPECT_EQ(passed(), "0a ");
}

TEST_F(Order, HasHeardAllWhenEachThatRunsHasShownSomething) {
    EXPECT_TRUE(order_.has_heard_all());
    begin(2);
    EXPECT_FALSE(order_.has_heard_all());
    order_.reach(0, 5, now_);
    EXPECT_FALSE(order_.has_heard_all());
    order_.take(1, 6, "a", now_);
    EXPECT_TRUE(order_.has_heard_all());
    order_.begin(2, now_);
    EXPECT_FALSE(order_.has_heard_all());
    order_.end(2);
    EXPECT_TRUE(order_.has_heard_all());
}

TEST_F(Order, DoesNotWaitLongForASilentHost) {
    begin(2);
    order_.take(0, 10, "a", now_);
    now_ += seconds(20);
    EXPECT_EQ(passed(), ""); // it has shown nothing yet
    order_.reach(1, 1, now_);
    now_ += seconds(3);
    EXPECT_EQ(passed(), "");
    now_ += std::chrono::nanoseconds(1);
    order_.take(0, 20, "b", now_);
    EXPECT_EQ(passed(), "0a 0b ");
    // What it has to say then is late, but not lost.
    order_.take(1, 5, "late", now_);
    order_.reach(0, 50, now_);
    order_.reach(1, 50, now_);
    EXPECT_EQ(passed(), "1late ");
}

TEST_F(Order, KeepsTheOrderOfAHostWhoseClockWasSetBack) {
    begin(1);
    order_.take(0, 100, "a", now_);
    order_.take(0, 50, "b", now_);
    EXPECT_EQ(passed(), "0a 0b ");
}

TEST_F(Order, PassesOnEverythingAtTheEnd) {
    begin(3);
    order_.take(2, 30, "c", now_);
    order_.take(0, 10, "a", now_);
    order_.take(1, 20, "b", now_);
    EXPECT_EQ(rest(), "0a 1b 2c ");
    EXPECT_EQ(rest(), "");
}

TEST_F(Order, CountsWhatWaits) {
    begin(2);
    order_.take(0, 10, "four", now_);
    order_.take(0, 20, "more", now_);
    const size_t both = order_.waiting(0);
    EXPECT_GE(both, 8u);
    order_.reach(1, 10, now_);
    passed();
    EXPECT_EQ(order_.waiting(0), both / 2);
    EXPECT_EQ(order_.waiting(1), 0u);
    rest();
    EXPECT_EQ(order_.waiting(0), 0u);
}

// Records that are empty take memory, too.
TEST_F(Order, EachRecordCounts) {
    begin(2);
    for (int i = 0; i < 1000; i++)
        order_.take(0, 10, "", now_);
    EXPECT_GE(order_.waiting(0), 1000 * sizeof(std::string));
    rest();
    EXPECT_EQ(order_.waiting(0), 0u);
}

} // namespace
} // namespace djstap::hosts
