// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph as one SVG file, which needs no other.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace djstap {

// Returns the SVG text. `samples`: stacks ("outermost;…;innermost") and their counts, which are
// positive. The width of a function is its share of all counts; functions too narrow to be seen
// are omitted. In a browser, a click on a function shows it in full width, Ctrl-F searches.
std::string flame_graph(const std::map<std::string, int64_t, std::less<>>& samples,
                        const std::string& title);

} // namespace djstap
