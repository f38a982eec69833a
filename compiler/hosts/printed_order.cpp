// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/printed_order.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace djstap::hosts {

void PrintedOrder::take(size_t host, int64_t time_ns, std::string text, Clock::time_point now) {
    Host& from = hosts_[host];
    // The order of a host's own records is the one in which they come.
    time_ns = std::max(time_ns, from.reached_ns);
    from.records.push_back({time_ns, std::move(text)});
    from.bytes += from.records.back().bytes();
    reach(host, time_ns, now);
}

void PrintedOrder::reach(size_t host, int64_t time_ns, Clock::time_point now) {
    Host& from = hosts_[host];
    from.reached_ns = std::max(from.reached_ns, time_ns);
    from.heard = now;
}

bool PrintedOrder::has_heard_all() const {
    return std::ranges::all_of(
        hosts_, [](const Host& host) { return !host.is_live || host.reached_ns != INT64_MIN; });
}

void PrintedOrder::begin(size_t host, Clock::time_point now) {
    hosts_[host].is_live = true;
    hosts_[host].heard = now;
}

void PrintedOrder::pass(Clock::time_point now, const Print& print) {
    int64_t until = INT64_MAX;
    for (const Host& each : hosts_)
        if (each.is_live && (each.reached_ns == INT64_MIN || now - each.heard <= patience_))
            until = std::min(until, each.reached_ns);
    pass_until(until, print);
}

void PrintedOrder::pass_all(const Print& print) {
    pass_until(INT64_MAX, print);
}

void PrintedOrder::pass_until(int64_t time_ns, const Print& print) {
    using Head = std::pair<int64_t, size_t>; // of the same time: in the order of the hosts
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto add = [&](size_t host) {
        const auto& records = hosts_[host].records;
        if (!records.empty() && records.front().time_ns <= time_ns)
            heads.emplace(records.front().time_ns, host);
    };
    for (size_t host = 0; host < hosts_.size(); host++)
        add(host);
    while (!heads.empty()) {
        const size_t host = heads.top().second;
        heads.pop();
        Host& from = hosts_[host];
        const Record record = std::move(from.records.front());
        from.records.pop_front();
        from.bytes -= record.bytes();
        print(host, record.time_ns, record.text);
        add(host);
    }
}

} // namespace djstap::hosts
