// SPDX-License-Identifier: GPL-2.0-or-later
// The hosts of a run, all served by one thread.
#pragma once
#include "hosts/connection.h"
#include "hosts/node_set.h"
#include "hosts/remote_shell.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace djstap::hosts {

struct FanOutOptions {
    RemoteShell shell;
    // How long a host may take without any progress.
    std::chrono::milliseconds patience{30'000};
    size_t calls_at_once = 64; // connections that are being established
};

class FanOut {
  public:
    using Clock = Connection::Clock;
    struct Events {
        std::function<void(size_t host, SnapshotFrame)> frame;
        std::function<void(size_t host, const std::string& line)> error_line; // of its errors
        std::function<bool(size_t host)> has_room; // false: its output is not read for now
        std::function<bool()> is_over;             // asked often; true ends a wait
    };
    FanOut(const std::vector<Node>& nodes, FanOutOptions options, Events events);

    size_t size() const { return hosts_.size(); }
    Connection& host(size_t index) { return *hosts_[index]; }
    const Connection& host(size_t index) const { return *hosts_[index]; }

    // Calls all hosts, and returns when none is before this stage, or events.is_over().
    void call(Stage stage = Stage::Known);
    // Serves the hosts until none is before this stage, or events.is_over(). Those that make no
    // progress are given up.
    void wait_for(Stage stage);
    // Serves the hosts once: waits until something comes, but not longer than this.
    void serve(std::chrono::milliseconds longest);
    // Returns whether a host is before this stage.
    bool is_anyone_before(Stage stage) const;
    // Asks all to stop.
    void stop();

  private:
    void call_more();
    void check_progress(Connection& host, Clock::time_point now) const;

    FanOutOptions options_;
    Events events_;
    std::vector<std::unique_ptr<Connection>> hosts_;
    bool calling_ = false;
};

} // namespace djstap::hosts
