// SPDX-License-Identifier: GPL-2.0-or-later
// The command of -c: searched before anything is loaded, started stopped, released when the probes
// are armed.
#pragma once
#include "diagnostics/result.h"
#include "system/process.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace djstap {

// Returns the command line as an argument vector: its words, with quotes, variables and patterns
// expanded, so that the program itself is target(); or /bin/sh -c if it needs more of a shell.
// Fails if its program does not exist or is not executable, with the nearest name as the hint.
Result<std::vector<std::string>> parse_command(const std::string& line);
// The same check for the program of an argument vector.
Status check_program(const std::string& program);

class Command {
  public:
    // Creates the process, which waits.
    static Result<Command> prepare(const std::vector<std::string>& arguments,
                                   const ProcessOptions& options = {});
    // If it is not released, the process ends with the object, without having run anything.
    // Otherwise it outlives the object.

    pid_t pid() const { return process_.pid(); }
    // Makes it execute the program; fails with the reason if that is not possible.
    Status release();
    // Returns the status of waitpid() if the command has ended; does not wait.
    std::optional<int> ended() { return process_.poll_status(); }
    // Returns describe_status() of its end; "" while it runs, if release() has failed, and if the
    // signal that ended the session reached the command, too: a terminal and a guest send it to
    // both.
    std::string failure();

  private:
    Command(Process process, std::string program)
        : process_(std::move(process)), program_(std::move(program)) {}

    Process process_;
    std::string program_;
    bool refused_ = false; // exec failed
};

// Returns "exited with status 3", "was ended by signal 11 (Segmentation fault)"; "" for success.
std::string describe_status(int wait_status);

} // namespace djstap
