// SPDX-License-Identifier: GPL-2.0-or-later
// Handles the output of Kbuild and its tools.
#pragma once
#include <string>
#include <string_view>

namespace djstap::module {

// Returns the lines that explain why a build failed, each after "\n  ": without make's own, at most
// a dozen, and without the build's folder in front of file names.
std::string relevant_lines(std::string_view output, const std::string& folder = {});

// Returns whether a tool emitted a warning. modpost's complaint about sections that are not loaded
// does not count: it is meant for assembly, and offsets.o may cause it on purpose.
bool has_warnings(std::string_view output);

} // namespace djstap::module
