// SPDX-License-Identifier: GPL-2.0-or-later
// Signals that end a session.
#pragma once
#include <array>
#include <csignal>

namespace djstap {

// During its life, SIGINT, SIGTERM and SIGHUP only count as requests to stop, however often they
// arrive, and SIGPIPE is ignored. There can be one at a time.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    static bool stop_requested() { return requests() > 0; }
    // How many signals have requested it.
    static int requests();
    // Counts a request; may be called by a handler that does more.
    static void request();
    // Returns the signals that request it.
    static sigset_t requesting();

  private:
    static constexpr std::array<int, 4> handled_{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    std::array<struct sigaction, handled_.size()> before_{};
};

} // namespace djstap
