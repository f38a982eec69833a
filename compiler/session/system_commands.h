// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of system(): a session's reader runs them, as the user who runs the session.
#pragma once
#include "session/output.h"
#include "system/process.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace djstap {

class SystemCommands {
  public:
    // Starts `sh -c command` in the background, with an empty standard input. What was printed
    // before precedes its output.
    void start(std::string_view command, Output& output);
    // Waits for the commands that still run, unless a signal has ended the session or does so now:
    // then they outlive it.
    void wait();

  private:
    static constexpr size_t first_look = 16;
    std::vector<Process> running_;
    size_t look_at_ = first_look; // how many are known when their states are looked at next
};

} // namespace djstap
