// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the nearest correct name, for hints.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Damerau-Levenshtein distance (optimal string alignment), in edits.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate nearest to `name`, if it is near enough to be what was meant: at most a
// third of the name's length in edits, at least one allowed. The first of several wins.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

// Returns "did you mean 'print'?", or "" if nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

} // namespace djstap
