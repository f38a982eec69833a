// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/suggest.h"

#include <algorithm>

namespace djstap {

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++)
        previous[j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, substitution});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, previous);
        std::swap(previous, row);
    }
    return previous[b.size()];
}

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
    size_t limit = std::max<size_t>(1, name.size() / 3);
    const std::string* best = nullptr;
    for (const std::string& candidate : candidates) {
        size_t difference = candidate.size() > name.size() ? candidate.size() - name.size()
                                                           : name.size() - candidate.size();
        if (difference > limit || candidate == name)
            continue;
        size_t distance = edit_distance(name, candidate);
        if (distance <= limit && (!best || distance < limit)) {
            best = &candidate;
            limit = distance;
        }
    }
    return best ? std::optional(*best) : std::nullopt;
}

namespace {

// The one candidate that ends with the name as a word: sock_prot_num2str for prot_num2str.
std::optional<std::string> longer_name(std::string_view name,
                                       const std::vector<std::string>& candidates) {
    constexpr size_t shortest = 6;
    const std::string ending = "_" + std::string(name);
    const auto fits = [&](const std::string& candidate) { return candidate.ends_with(ending); };
    const auto found = std::find_if(candidates.begin(), candidates.end(), fits);
    if (name.size() < shortest || found == candidates.end() ||
        std::any_of(found + 1, candidates.end(), fits))
        return std::nullopt;
    return *found;
}

} // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
    auto found = nearest(name, candidates);
    if (!found)
        found = longer_name(name, candidates);
    return found ? "did you mean '" + *found + "'?" : std::string();
}

} // namespace djstap
