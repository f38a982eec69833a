// SPDX-License-Identifier: GPL-2.0-or-later
// A second opinion on what a program means: a plain tree-walking interpreter of begin, end and
// error probes and of a timer. It shares the typed program with djstap and nothing else: texts are
// std::string, arrays are lists, printf is the C library's. One timer may go on until it calls
// exit().
#pragma once
#include "semantics/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap::differential {

struct Rules {
    size_t string_bytes = 512; // MAXSTRINGLEN, with the terminator
    uint64_t map_entries = 2048;
    uint64_t max_errors = 0;
    int64_t max_nesting = 10;
    int64_t max_actions = INT32_MAX; // of timers
    int64_t max_session_actions = INT32_MAX;
    int64_t target = 0;    // -x
    bool optimized = true; // for djstap's back end
};

struct Outcome {
    std::string output;
    std::vector<std::string> messages; // "ERROR: …", without places
    int status = 0;
    std::string refused; // what the interpreter does not know; empty: it ran
};

// Runs the program as a session does. It has to end by itself.
Outcome interpret(const program::Program& program, const Rules& rules);

} // namespace djstap::differential
