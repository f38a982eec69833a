// SPDX-License-Identifier: GPL-2.0-or-later
// One run of a module: load or attach, start, read, stop, unload.
#pragma once
#include "diagnostics/result.h"
#include "include/control.h"
#include "session/output_request.h"

#include <chrono>
#include <string>
#include <vector>

namespace djstap {

struct SessionOptions {
    std::string module;     // path of a .ko; with `attach`, the name of a loaded module
    bool attach = false;    // --attach
    bool recorder = false;  // -F: the module stays loaded, as a flight recorder
    bool stop = false;      // with `attach`: ends and unloads a flight recorder
    std::string parameters; // for the module: "NAME=VALUE …"
    std::string command;    // -c: a command line; empty: none
    std::vector<std::string> command_arguments; // the same as a vector, which has precedence
    int traced_pid = 0;                         // -x
    OutputChoice outputs;                       // --output, --json, -o
    std::chrono::milliseconds time_limit{0};    // -T; 0: none
    int verbose = 0;                            // from 1 on, the mechanism of every probe is shown
    bool warnings = true;                       // -w disables them
    unsigned buffer_mb = 0;                     // -s: of each CPU; 0: the module's default
    bool start_on_input =
        false; // the loaded module runs from the first byte of the standard input to its end
    bool check_traced_pid = true; // -x with a process that does not exist is an error
};

struct SessionOutcome {
    // for exit(): 0, or 1 after errors, a failed command, output that could not be written
    int status = 0;
    djs_counts counts{};
    uint64_t records = 0;
    uint64_t errors = 0; // run-time errors of the script that were printed
    bool ended_by_signal = false;
};

// With `recorder`: loads and arms the module, and prints its name. With `attach` to a flight
// recorder: prints what it holds. Otherwise runs until the script, the command, a signal or the
// time limit ends it. Meanwhile, SIGINT, SIGTERM and SIGHUP end the session and SIGPIPE is ignored.
// Fails if the session could not begin: nothing is left loaded then. Everything later is part of
// the output, and of the outcome's status.
Result<SessionOutcome> run_session(const SessionOptions& options);

} // namespace djstap
