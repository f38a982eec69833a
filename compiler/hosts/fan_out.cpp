// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/fan_out.h"

#include <algorithm>
#include <poll.h>
#include <utility>

namespace djstap::hosts {

namespace {

// A signal that arrives just before a wait is noticed after this time.
constexpr std::chrono::milliseconds longest_wait{100};

const char* late(const Connection& host) {
    if (host.is_ending())
        return "it does not end";
    switch (host.stage()) {
    case Stage::Waiting:
    case Stage::Connecting:
    case Stage::Connected:
        return "it does not answer";
    case Stage::Known:
    case Stage::Pushing:
    case Stage::Ready:
        return "it does not take djstap's files";
    case Stage::Loading:
    case Stage::Loaded:
        return "it does not load the module";
    default:
        return "it is silent";
    }
}

} // namespace

FanOut::FanOut(const std::vector<Node>& nodes, FanOutOptions options, Events events)
    : options_(std::move(options)), events_(std::move(events)) {
    for (size_t i = 0; i < nodes.size(); i++)
        hosts_.push_back(std::make_unique<Connection>(
            nodes[i], [this, i](SnapshotFrame frame) { events_.frame(i, std::move(frame)); }));
}

void FanOut::call(Stage stage) {
    calling_ = true;
    wait_for(stage);
    calling_ = false;
}

void FanOut::call_more() {
    const auto is_connecting = [](const auto& host) { return host->stage() == Stage::Connecting; };
    auto connecting = static_cast<size_t>(std::ranges::count_if(hosts_, is_connecting));
    for (auto& host : hosts_) {
        if (connecting >= options_.calls_at_once)
            return;
        if (host->stage() != Stage::Waiting)
            continue;
        host->call(options_.shell, Clock::now());
        connecting++;
    }
}

bool FanOut::is_anyone_before(Stage stage) const {
    return std::ranges::any_of(hosts_, [&](const auto& host) { return host->stage() < stage; });
}

void FanOut::wait_for(Stage stage) {
    while (is_anyone_before(stage) && !events_.is_over())
        serve(longest_wait);
}

// Only those that wait for the others may be silent, and not when they are to end.
void FanOut::check_progress(Connection& host, Clock::time_point now) const {
    const Stage stage = host.stage();
    const bool waits = stage == Stage::Known || stage == Stage::Ready || stage == Stage::Loaded;
    if (stage == Stage::Waiting || stage == Stage::Ended || (waits && !host.is_ending()))
        return;
    if (now - host.heard() < options_.patience)
        return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.patience);
    host.give_up(std::string(late(host)) + " for " + std::to_string(seconds.count()) + " seconds");
}

void FanOut::serve(std::chrono::milliseconds longest) {
    if (calling_)
        call_more();
    enum class Use : uint8_t { Output, Errors, Input };
    std::vector<pollfd> descriptors;
    std::vector<std::pair<size_t, Use>> uses;
    for (size_t i = 0; i < hosts_.size(); i++) {
        const auto add = [&](int fd, short events, Use use) {
            if (fd < 0)
                return;
            descriptors.push_back({fd, events, 0});
            uses.emplace_back(i, use);
        };
        if (events_.has_room(i))
            add(hosts_[i]->output_descriptor(), POLLIN, Use::Output);
        else
            hosts_[i]->excuse(Clock::now());
        add(hosts_[i]->errors_descriptor(), POLLIN, Use::Errors);
        add(hosts_[i]->input_descriptor(), POLLOUT, Use::Input);
    }
    const int ready =
        poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
    const auto now = Clock::now();
    for (size_t i = 0; ready > 0 && i < descriptors.size(); i++) {
        if (!descriptors[i].revents)
            continue;
        Connection& host = *hosts_[uses[i].first];
        // An earlier one of these may have closed it.
        if (uses[i].second == Use::Output && host.output_descriptor() == descriptors[i].fd)
            host.read_output(now);
        else if (uses[i].second == Use::Errors && host.errors_descriptor() == descriptors[i].fd)
            host.read_errors();
        else if (uses[i].second == Use::Input && host.input_descriptor() == descriptors[i].fd)
            host.write_input(now);
    }
    for (size_t i = 0; i < hosts_.size(); i++) {
        hosts_[i]->tick(now);
        check_progress(*hosts_[i], now);
        for (const std::string& line : hosts_[i]->take_error_lines())
            events_.error_line(i, line);
    }
}

void FanOut::stop() {
    for (auto& host : hosts_)
        host->stop(Clock::now());
}

} // namespace djstap::hosts
