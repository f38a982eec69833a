// SPDX-License-Identifier: GPL-2.0-or-later
// Wildcards of probe patterns: * ? [set] [!set], a backslash takes the next character literally.
#pragma once
#include <string_view>

namespace djstap {

// True where `text` as a whole matches `pattern`. A '[' without its ']' stands for itself.
bool glob_match(std::string_view pattern, std::string_view text);

// True where `pattern` has a character with a meaning of its own.
bool has_wildcard(std::string_view pattern);

// The literal beginning of a pattern: what every name that matches starts with.
std::string_view literal_prefix(std::string_view pattern);

} // namespace djstap
