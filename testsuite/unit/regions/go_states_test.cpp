// SPDX-License-Identifier: GPL-2.0-or-later
// States of Go's runtime at places, from tables of numbers that are written by hand, and work in
// parts.
#include "program.h"

#include "regions/go_states.h"
#include "regions/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace djstap::regions {
namespace {

using test::Program;

// A number of a table and for how many bytes it holds. What is written is the difference to the
// number before, which is -1 at first, with the sign in the lowest bit.
using Numbers = std::vector<std::pair<int64_t, uint64_t>>;

std::string table_of(const Numbers& numbers) {
    std::string bytes;
    const auto add = [&](uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            bytes += static_cast<char>(value | 0x80);
        bytes += static_cast<char>(value);
    };
    int64_t before = -1;
    for (const auto& [number, length] : numbers) {
        const int64_t change = number - before;
        add(change < 0 ? static_cast<uint64_t>(~change) << 1 | 1
                       : static_cast<uint64_t>(change) << 1);
        add(length);
        before = number;
    }
    return bytes + '\0';
}

class GoStates : public testing::Test {
  protected:
    GoStates() {
        go_.found = go_.understood = true;
        file_ = std::move(*ElfFile::open(program_.path()));
    }
    uint32_t table(const Numbers& numbers) {
        const auto at = static_cast<uint32_t>(bytes_.size());
        bytes_ += table_of(numbers);
        return at;
    }
    void function(uint64_t address, uint64_t size, uint32_t stack, uint32_t unsafe = 0,
                  uint32_t inlined = 0, bool compiled = true) {
        go_.functions.push_back(
            {"", 0x500000 + address, size, 0, compiled, stack, unsafe, inlined});
    }
    // "index:number …"; 0 is no state.
    std::string states() {
        go_.numbers = bytes_;
        std::string text;
        for (const GoState& each : go_states(*Code::of(*file_), go_))
            text += std::to_string(each.first) + ":" + std::to_string(each.number) + " ";
        go_.functions.clear();
        return text;
    }

    const Program program_ = Program::assembled(".globl f\n.type f, @function\nf: .skip 64, 0x90\n",
                                                {"-Ttext=0x500000"});
    std::unique_ptr<ElfFile> file_;
    GoTable go_;
    std::string bytes_ = std::string(1, '\0'); // 0 is no table
};

TEST_F(GoStates, AreTheSameWhereTheStackIs) {
    const uint32_t stack = table({{0, 4}, {8, 6}, {0, 100}});
    function(0, 20, stack);
    EXPECT_EQ(states(), "0:1 4:2 10:1 20:0 ");
    // Of another function they are others.
    function(0, 8, stack);
    function(8, 8, stack);
    function(32, 3, stack);
    EXPECT_EQ(states(), "0:1 4:2 8:3 12:4 16:0 32:5 35:0 ");
    // It ends with the code.
    function(56, 20, stack);
    EXPECT_EQ(states(), "56:1 60:2 64:0 ");
    function(64, 20, stack);
    EXPECT_EQ(states(), "");
    function(0, 8, table({{1000, 4}, {-1000, 4}}));
    EXPECT_EQ(states(), "0:1 4:2 8:0 ");
}

// Preemption is safe (-1), unsafe (-2), or restarts a sequence, where nothing may be planted.
TEST_F(GoStates, DependOnPreemptionAndInlining) {
    const uint32_t stack = table({{0, 4}, {8, 6}, {0, 100}}),
                   preemption = table({{-1, 5}, {-2, 5}, {3, 4}, {-3, 2}, {-1, 4}});
    function(0, 20, stack, preemption);
    EXPECT_EQ(states(), "0:1 4:2 5:3 10:0 14:0 16:1 20:0 ");
    const uint32_t inlined = table({{-1, 2}, {0, 3}, {-1, 95}});
    function(0, 20, stack, 0, inlined);
    EXPECT_EQ(states(), "0:1 2:2 4:3 5:4 10:1 20:0 ");
    function(0, 20, stack, 0, 1000); // behind all tables: none
    EXPECT_EQ(states(), "0:1 4:2 10:1 20:0 ");
}

TEST_F(GoStates, AreUnknownBehindTheEndOfATable) {
    const Numbers whole{{0, 100}}, part{{0, 4}, {8, 2}};
    function(0, 20, table(part));
    EXPECT_EQ(states(), "0:1 4:2 6:0 20:0 ");
    function(0, 20, table(whole), table({{-1, 5}}));
    EXPECT_EQ(states(), "0:1 5:0 20:0 ");
    function(0, 20, table(whole), 0, table({{-1, 7}}));
    EXPECT_EQ(states(), "0:1 7:0 20:0 ");
    // Numbers that hold for no bytes, or are not whole.
    function(0, 20, table({{0, 4}, {8, 0}, {0, 100}}));
    EXPECT_EQ(states(), "0:1 4:0 20:0 ");
    function(0, 20, table({{0, 4}}));
    bytes_.pop_back();
    EXPECT_EQ(states(), "0:1 4:0 20:0 ");
    bytes_ += '\x80';
    function(0, 20, static_cast<uint32_t>(bytes_.size() - 1));
    EXPECT_EQ(states(), "0:0 20:0 ");
}

TEST_F(GoStates, AreThoseOfCompiledFunctions) {
    const uint32_t stack = table({{0, 100}});
    function(0, 20, stack, 0, 0, false);
    EXPECT_EQ(states(), "0:0 20:0 ");
    function(0, 20, 0);
    EXPECT_EQ(states(), "0:0 20:0 ");
    go_.understood = false;
    function(0, 20, stack);
    EXPECT_EQ(states(), "");
}

TEST_F(GoStates, FunctionsAreFoundByTheirBytes) {
    function(0x10, 5, 0);
    function(0x20, 0, 0);
    function(0x30, 1, 0);
    const auto at = [&](uint64_t offset) {
        const GoFunction* found = go_.at(0x500000 + offset);
        return found ? found->address - 0x500000 : 0;
    };
    EXPECT_EQ(at(0x0f), 0U);
    EXPECT_EQ(at(0x10), 0x10U);
    EXPECT_EQ(at(0x14), 0x10U);
    EXPECT_EQ(at(0x15), 0U);
    EXPECT_EQ(at(0x20), 0U);
    EXPECT_EQ(at(0x30), 0x30U);
    EXPECT_EQ(at(0x31), 0U);
}

TEST(InParallel, EachPartIsDoneOnce) {
    for (const unsigned threads : {0, 1, 2, 7})
        for (const size_t count : {0, 1, 2, 100}) {
            std::vector<std::atomic<int>> done(count);
            std::vector<double> shares;
            const auto caller = std::this_thread::get_id();
            in_parallel(
                count, threads, [&](size_t i) { done[i]++; },
                [&](double share) {
                    EXPECT_EQ(std::this_thread::get_id(), caller);
                    shares.push_back(share);
                });
            for (const std::atomic<int>& each : done)
                EXPECT_EQ(each, 1);
            EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
            for (const double share : shares)
                EXPECT_TRUE(share >= 0 && share < 1) << share;
            if (threads <= 1) {
                EXPECT_EQ(shares.size(), count);
            }
        }
    std::vector<double> shares;
    in_parallel(4, 1, [](size_t) {}, [&](double share) { shares.push_back(share); });
    EXPECT_EQ(shares, (std::vector<double>{0, 0.25, 0.5, 0.75}));
}

} // namespace
} // namespace djstap::regions
