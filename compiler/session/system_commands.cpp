// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/system_commands.h"

#include "session/signals.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace djstap {

namespace {
constexpr auto between_looks = std::chrono::milliseconds(5);
} // namespace

void SystemCommands::start(std::string_view command, Output& output) {
    // Forgets those that have ended, of which a long session may start many. Each asks the kernel:
    // not for every command.
    if (running_.size() >= look_at_) {
        std::erase_if(running_, [](Process& process) { return process.poll_status().has_value(); });
        look_at_ = std::max(first_look, 2 * running_.size());
    }
    output.writer().flush();
    ProcessOptions options;
    options.input = ProcessOptions::none;
    auto process = Process::start({"/bin/sh", "-c", "--", std::string(command)}, options);
    if (process)
        running_.push_back(std::move(*process));
    else
        output.warning("the command '" + std::string(command) +
                       "' of system() cannot be run: " + process.failure().message);
}

void SystemCommands::wait() {
    for (Process& process : running_)
        while (!process.poll_status() && !StopSignals::stop_requested())
            std::this_thread::sleep_for(between_looks);
}

} // namespace djstap
