// SPDX-License-Identifier: GPL-2.0-or-later
// What Kbuild and its tools say.
#pragma once
#include <string>
#include <string_view>

namespace djstap::module {

// The lines that say why a build failed, each after "\n  ": without make's own, at most a dozen,
// and without the build's folder in front of file names.
std::string relevant_lines(std::string_view output, const std::string& folder = {});

// True where a tool warned. modpost's complaint about sections that are not loaded is meant for
// assembly; offsets.o may have one on purpose.
bool has_warnings(std::string_view output);

} // namespace djstap::module
