// SPDX-License-Identifier: GPL-2.0-or-later
// Work that threads share.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace djstap::regions {

// Calls work(i) for each i below `count`, in `threads` threads.
template <class Work> void in_parallel(size_t count, unsigned threads, Work work) {
    std::atomic<size_t> next{0};
    auto run = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;)
            work(i);
    };
    std::vector<std::thread> others;
    const size_t useful = std::min<size_t>(threads, count);
    for (size_t i = 1; i < useful; i++)
        others.emplace_back(run);
    run();
    for (std::thread& each : others)
        each.join();
}

} // namespace djstap::regions
