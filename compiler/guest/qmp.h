// SPDX-License-Identifier: GPL-2.0-or-later
// QEMU's machine protocol: one JSON object a line over a socket.
#pragma once
#include "guest/files.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace djstap::guest {

class Qmp {
  public:
    using Clock = std::chrono::steady_clock;

    Qmp() = default;
    explicit Qmp(FileDescriptor socket) : socket_(std::move(socket)) {}

    // Takes QEMU's greeting. To be called once, first.
    Status open(Clock::time_point deadline);
    // Runs one command, waiting for its answer; events that come before it are dropped.
    // `descriptor` is passed along when it is not -1 (getfd). Fails with QEMU's own words, when it
    // goes away, or at the deadline.
    Result<nlohmann::json> run(const std::string& command, const nlohmann::json& arguments,
                               Clock::time_point deadline, int descriptor = -1);

  private:
    Result<nlohmann::json> receive(Clock::time_point deadline);

    FileDescriptor socket_;
    std::string input_;
};

} // namespace djstap::guest
