// SPDX-License-Identifier: GPL-2.0-or-later
// Wildcards of probe patterns: * ? [set] [!set] {one,other}; a backslash makes the next character
// literal.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// A pattern that is compared with many names.
class Glob {
  public:
    explicit Glob(std::string_view pattern);
    // Returns whether the whole of `text` matches.
    bool matches(std::string_view text) const;

  private:
    std::vector<std::string> alternatives_;
};

// Returns whether the whole of `text` matches `pattern`. A '[' without its ']' is literal, as is a
// '{' without its '}'.
bool glob_match(std::string_view pattern, std::string_view text);

// Returns the patterns without braces for which a pattern stands: "vfs_{read,write}*" for two of
// them. Braces may be nested. Returns at most `most_alternatives`, and a pattern with more than 64
// braces as it is.
std::vector<std::string> glob_alternatives(std::string_view pattern);
constexpr size_t most_alternatives = 256;
// Returns whether a pattern exceeds these limits.
bool has_too_many_alternatives(std::string_view pattern);

// Returns whether `pattern` contains a wildcard or a backslash.
bool has_wildcard(std::string_view pattern);

// Returns the literal prefix of a pattern, with which every matching name starts.
std::string_view literal_prefix(std::string_view pattern);

} // namespace djstap
