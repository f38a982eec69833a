// SPDX-License-Identifier: GPL-2.0-or-later
// Wildcards of probe patterns: * ? [set] [!set]; a backslash makes the next character literal.
#pragma once
#include <string_view>

namespace djstap {

// Returns whether the whole of `text` matches `pattern`. A '[' without its ']' is literal.
bool glob_match(std::string_view pattern, std::string_view text);

// Returns whether `pattern` contains a wildcard or a backslash.
bool has_wildcard(std::string_view pattern);

// Returns the literal prefix of a pattern, with which every matching name starts.
std::string_view literal_prefix(std::string_view pattern);

} // namespace djstap
