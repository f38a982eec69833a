// SPDX-License-Identifier: GPL-2.0-or-later
// Work that threads share.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace djstap::regions {

// Calls work(i) for each i below `count`, in `threads` threads, and report(share) now and then, in
// the calling one, with the share of it that was begun.
template <class Work, class Report>
void in_parallel(size_t count, unsigned threads, Work work, Report report) {
    std::atomic<size_t> next{0};
    auto run = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;)
            work(i);
    };
    std::vector<std::thread> others;
    const size_t useful = std::min<size_t>(threads, count);
    for (size_t i = 1; i < useful; i++)
        others.emplace_back(run);
    for (size_t i; (i = next.fetch_add(1)) < count;) {
        report(static_cast<double>(i) / static_cast<double>(count));
        work(i);
    }
    for (std::thread& each : others)
        each.join();
}

template <class Work> void in_parallel(size_t count, unsigned threads, Work work) {
    in_parallel(count, threads, work, [](double) {});
}

} // namespace djstap::regions
