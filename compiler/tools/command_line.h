// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of a script with a header: its own options and --help.
#pragma once
#include "tools/header.h"

#include <string>
#include <utility>
#include <vector>

namespace djstap {

// What the words behind `djstap --example NAME --` request.
struct ToolRequest {
    bool help = false;
    std::vector<std::pair<std::string, std::string>> global_values; // as -G sets them
    std::vector<std::string> arguments;                             // $1 … @1 …
    std::vector<std::string> outputs;                               // as --output requests them
};

// Parses the words for the tool `name`. Reports unknown options, values that do not fit their type
// (at the declaration in the script), and missing or surplus arguments; returns nothing then. With
// --help nothing else is checked.
std::optional<ToolRequest> parse_request(const ToolHeader& header, const std::string& name,
                                         std::vector<std::string> words, Diagnostics& diagnostics);

// Returns what --help prints: what the tool answers, its arguments, options with types and initial
// values, its columns and its cost. `call` is how it is run: "djstap --example NAME".
std::string help_text(const ToolHeader& header, const std::string& call);

} // namespace djstap
