// SPDX-License-Identifier: GPL-2.0-or-later
// What hosts print while they run, in the order of time.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace djstap::hosts {

// Each host's own records come in the order of time. A record is passed on when every other host
// has shown that it has none before: by a later record, or a snapshot. Hosts that have
// shown something and are then silent for longer than `patience` are not waited for: what they
// print then comes late.
class PrintedOrder {
  public:
    using Clock = std::chrono::steady_clock;
    PrintedOrder(size_t hosts, Clock::duration patience) : hosts_(hosts), patience_(patience) {}

    // Takes what a host has printed, by the common clock.
    void take(size_t host, int64_t time_ns, std::string text, Clock::time_point now);
    // A host has shown all that it printed until this time.
    void reach(size_t host, int64_t time_ns, Clock::time_point now);
    // A host takes part from now on: it is waited for.
    void begin(size_t host, Clock::time_point now);
    // A host prints nothing more.
    void end(size_t host) { hosts_[host].is_live = false; }
    // Returns whether each host that takes part has printed or shown something.
    bool has_heard_all() const;
    // Returns the bytes in memory of what waits of a host.
    size_t waiting(size_t host) const { return hosts_[host].bytes; }

    using Print = std::function<void(size_t host, int64_t time_ns, const std::string& text)>;
    // Passes on what no host can precede any more.
    void pass(Clock::time_point now, const Print& print);
    // Passes on everything.
    void pass_all(const Print& print);

  private:
    struct Record {
        int64_t time_ns;
        std::string text;
        size_t bytes() const { return sizeof(Record) + text.size(); }
    };
    struct Host {
        bool is_live = false;
        int64_t reached_ns = INT64_MIN;
        Clock::time_point heard{};
        std::deque<Record> records;
        size_t bytes = 0;
    };
    void pass_until(int64_t time_ns, const Print& print);

    std::vector<Host> hosts_;
    Clock::duration patience_;
};

} // namespace djstap::hosts
