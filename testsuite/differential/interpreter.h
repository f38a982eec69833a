// SPDX-License-Identifier: GPL-2.0-or-later
// An independent implementation of the language: a plain tree-walking interpreter of begin, end and
// error probes and of a timer. It shares only the typed program with djstap: strings are
// std::string, arrays are lists, printf is the C library's. One timer may run until it calls
// exit().
#pragma once
#include "semantics/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap::differential {

struct Rules {
    size_t string_bytes = 512; // MAXSTRINGLEN, including the terminator
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
    std::string refused; // a feature that the interpreter does not support; empty: it ran
};

// Runs the program like a session. The program must end on its own.
Outcome interpret(const program::Program& program, const Rules& rules);

} // namespace djstap::differential
