// SPDX-License-Identifier: GPL-2.0-or-later
// Runs tools: make, ld, objtool, sign-file.
#pragma once
#include "system/process.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// Runs words[0], searched in $PATH, to its end, with an empty stdin and an environment without
// variables that influence make or Kbuild. Returns the first megabyte of its output on both
// streams. `line` (may be null) is called with each line as it arrives. A program that does not
// exist is a Failure that names it.
Result<ProgramOutcome> run_tool(const std::vector<std::string>& words,
                                const std::function<void(std::string_view)>& line = nullptr);

std::string quoted_for_shell(const std::string& word);
// Returns the first errors in a compiler's output, each on an indented line.
std::string first_errors(std::string_view output);

} // namespace djstap::module
