// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers add to the statistics of their CPU, executed: each one keeps what the script asks
// of it, by instructions of the handler's own.
#include "loaded_script.h"

#include "include/script.h"
#include "include/statistic.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace djstap {
namespace {

class StatisticsOfCpu : public LoadedScript {
  protected:
    static constexpr int64_t lowest = std::numeric_limits<int64_t>::min(),
                             highest = std::numeric_limits<int64_t>::max();
    static constexpr size_t buckets = 2 * DJS_LOG_ZERO + 1;

    // Gives a script's statistic memory, as the runtime does.
    djs_statistic& make_statistic(const std::string& name) {
        char* const memory =
            code_.variable("statistic " + name, sizeof(djs_statistic) + buckets * sizeof(int64_t));
        auto* const made = reinterpret_cast<djs_statistic*>(memory);
        made->min = highest;
        made->max = lowest;
        return *(code_.as<djs_statistic*>("djs_global_" + name) = made);
    }
    void run() {
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_0"))(&ctx_);
        EXPECT_EQ(ctx_.error, nullptr);
    }
    djs_ctx ctx_ = {};
};

} // namespace

TEST_F(StatisticsOfCpu, KeepWhatIsAskedOfThem) {
    load("global counted, added, least, most, shown, n\n"
         "probe timer.s(1) { counted <<< n; added <<< n; least <<< n; most <<< n; shown <<< n }\n"
         "probe timer.s(2) { n = get_cycles() }\n"
         "probe end { println(@count(counted), @sum(added), @min(least), @max(most))\n"
         "print(@hist_log(shown)) }");
    ctx_.scratch = code_.variable("scratch", 4096);
    const djs_statistic &counted = make_statistic("counted"), &added = make_statistic("added"),
                        &least = make_statistic("least"), &most = make_statistic("most"),
                        &shown = make_statistic("shown");
    int64_t count = 0, smallest = highest, largest = lowest;
    uint64_t sum = 0;
    std::vector<int64_t> hits(buckets);
    for (const int64_t value :
         {int64_t{5}, int64_t{7}, int64_t{8}, int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-8},
          int64_t{-7}, highest, lowest + 1, lowest, highest, int64_t{5}}) {
        number("n") = value;
        run();
        count++;
        sum += static_cast<uint64_t>(value);
        smallest = std::min(smallest, value);
        largest = std::max(largest, value);
        // Of the numbers with so many binary digits, at each side of 0.
        const auto bits = static_cast<uint64_t>(value);
        const auto digits = static_cast<int>(std::bit_width(value < 0 ? 0 - bits : bits));
        hits[static_cast<size_t>(DJS_LOG_ZERO + (value < 0 ? -digits : digits))]++;
        for (const djs_statistic* const each : {&counted, &added, &least, &most, &shown})
            EXPECT_EQ(each->count, count) << value;
        EXPECT_EQ(added.sum, static_cast<int64_t>(sum)) << value;
        EXPECT_EQ(least.min, smallest) << value;
        EXPECT_EQ(most.max, largest) << value;
        EXPECT_EQ(std::vector<int64_t>(shown.buckets, shown.buckets + buckets), hits) << value;
    }
    // What nobody asks for costs nothing.
    EXPECT_EQ(least.max, lowest);
    EXPECT_EQ(most.min, highest);
    EXPECT_EQ(counted.min, highest);
    EXPECT_EQ(counted.max, lowest);
}

} // namespace djstap
