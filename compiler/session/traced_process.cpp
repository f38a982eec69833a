// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/traced_process.h"

#include "session/command.h"

#include <cerrno>
#include <csignal>

namespace djstap {

Status check_traced_process(const SessionOptions& options) {
    if (options.traced_pid && options.check_traced_pid && kill(options.traced_pid, 0) != 0 &&
        errno == ESRCH)
        return Failure{"there is no process " + std::to_string(options.traced_pid),
                       "see ps, or start it with -c"};
    return Done{};
}

Result<std::vector<std::string>> command_of(const SessionOptions& options) {
    if (!options.command_arguments.empty()) {
        if (auto found = check_program(options.command_arguments.front()); !found)
            return found.failure();
        return options.command_arguments;
    }
    if (options.command.empty())
        return std::vector<std::string>();
    return parse_command(options.command);
}

} // namespace djstap
