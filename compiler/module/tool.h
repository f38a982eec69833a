// SPDX-License-Identifier: GPL-2.0-or-later
// Tools that are run: make, ld, objtool, sign-file.
#pragma once
#include "system/process.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// Runs words[0], found in $PATH, to its end, with an empty stdin and an environment without what
// make or Kbuild would take orders from. Yields what it wrote to both streams, the first megabyte.
// `line` (may be null) is given each line as it comes. A program that is not there is a Failure
// that names it.
Result<ProgramOutcome> run_tool(const std::vector<std::string>& words,
                                const std::function<void(std::string_view)>& line = nullptr);

} // namespace djstap::module
