// SPDX-License-Identifier: GPL-2.0-or-later
// The nearest right name, for hints.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Damerau-Levenshtein distance (optimal string alignment), in edits.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, where it is near enough to be what was meant: at most a third of
// the name's length in edits, at least one allowed. Ties go to the first.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

// "did you mean 'print'?", or empty when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

} // namespace djstap
