// SPDX-License-Identifier: GPL-2.0-or-later
// The command of -c: found before anything is loaded, started stopped, let go when the probes are
// armed.
#pragma once
#include "diagnostics/result.h"
#include "system/process.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace djstap {

// The command line as an argument vector: its words, with quotes, variables and patterns expanded,
// so that the program is target() itself; or given to /bin/sh -c when it takes more of a shell.
// Fails when its program is not there or not executable, with the nearest name as the hint.
Result<std::vector<std::string>> parse_command(const std::string& line);
// The same check for a vector that is already one.
Status check_program(const std::string& program);

class Command {
  public:
    // Makes the process, which waits.
    static Result<Command> prepare(const std::vector<std::string>& arguments);
    // Not let go, the process ends with the object, without having run anything. Else it goes on.

    pid_t pid() const { return process_.pid(); }
    // Lets it execute the program; fails with the reason when that cannot be executed.
    Status release();
    // The status of waitpid() once it has ended; does not wait.
    std::optional<int> ended() { return process_.poll_status(); }
    // What is wrong with how it ended, as describe_status() says it; empty while it goes on, and
    // where the signal that ended the session reached it, too: a terminal and a guest send one to
    // both.
    std::string failure();

  private:
    Command(Process process, std::string program)
        : process_(std::move(process)), program_(std::move(program)) {}

    Process process_;
    std::string program_;
};

// "exited with status 3", "was ended by signal 11 (Segmentation fault)"; empty for success.
std::string describe_status(int wait_status);

} // namespace djstap
