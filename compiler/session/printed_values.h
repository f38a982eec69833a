// SPDX-License-Identifier: GPL-2.0-or-later
// What outputs with structure make of a print: the names of its arguments.
#pragma once
#include "session/event.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The values of a statistic that a print shows: count, minimum, maximum, sum, average.
inline constexpr size_t statistic_numbers = 5;

// Returns the text with U+FFFD in place of what is not UTF-8, which many formats require.
std::string utf8(std::string_view text);

// Returns a name for each argument: "fd" for one that is printed as "fd=%d" or "fd: %d"; "arg1" for
// the first one if nothing tells what it is. Names differ.
std::vector<std::string> argument_names(const ModuleMeta::Format& format);

// Returns the format's text in one line, as a name for its events: "%s opens %s".
std::string format_title(const ModuleMeta::Format& format);

// Returns the function in the point of a probe at its entry or return:
// kernel.function("vfs_read@fs/read_write.c:450").return. `returns` tells which of them it is.
// Returns "" for other points.
std::string_view probed_function(std::string_view point, bool& returns);

} // namespace djstap
