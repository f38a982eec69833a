// SPDX-License-Identifier: GPL-2.0-or-later
// Signals that end a session.
#pragma once
#include <array>
#include <csignal>

namespace djstap {

// During its life, SIGINT, SIGTERM and SIGHUP only make stop_requested() true, however often they
// arrive, and SIGPIPE is ignored. There can be one at a time.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    static bool stop_requested();
    // Returns the signals that request it.
    static sigset_t requesting();

  private:
    static constexpr std::array<int, 4> handled_{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    std::array<struct sigaction, handled_.size()> before_{};
};

} // namespace djstap
