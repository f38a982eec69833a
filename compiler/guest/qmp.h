// SPDX-License-Identifier: GPL-2.0-or-later
// QEMU's machine protocol: one JSON object per line over a socket.
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

    // Reads QEMU's greeting. Call it once, first.
    Status open(Clock::time_point deadline);
    // Runs one command and waits for its answer; events before it are dropped. `descriptor` is sent
    // along if it is not -1 (getfd). Fails with QEMU's own message, if QEMU ends, or at the
    // deadline.
    Result<nlohmann::json> run(const std::string& command, const nlohmann::json& arguments,
                               Clock::time_point deadline, int descriptor = -1);

  private:
    Result<nlohmann::json> receive(Clock::time_point deadline);

    FileDescriptor socket_;
    std::string input_;
};

} // namespace djstap::guest
