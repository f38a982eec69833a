// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/refusals.h"

#include <algorithm>
#include <map>

namespace djstap::injection {

namespace {

using NamesByReason = std::map<std::string, std::vector<std::string>>;

std::string list_names(std::vector<std::string>& names, size_t most) {
    std::sort(names.begin(), names.end());
    const size_t shown = std::min(names.size(), most), others = names.size() - shown;
    std::string list;
    for (size_t i = 0; i < shown; i++)
        list += (i == 0                          ? ""
                 : i + 1 == shown && others == 0 ? " and "
                                                 : ", ") +
                ("'" + names[i] + "'");
    if (others > 0)
        list += " and " + std::to_string(others) + " more functions";
    return list;
}

} // namespace

std::vector<std::string> describe_refusals(const struct ::djs_script& script,
                                           const std::vector<PlacedImage>& images, size_t most) {
    std::vector<std::string> sentences;
    const auto name_of = [&](uint32_t site) {
        return std::string(script.site_texts + script.sites[site].function);
    };
    const auto describe = [&](const PlacedImage& image, NamesByReason& functions, bool returns) {
        for (auto& [reason, names] : functions) {
            const bool one = names.size() == 1;
            sentences.push_back((!returns ? ""
                                 : one    ? "the return of "
                                          : "the returns of ") +
                                list_names(names, most) + " of '" + image.path +
                                (one ? "' is not probed: " : "' are not probed: ") + reason);
        }
    };
    for (const PlacedImage& image : images) {
        NamesByReason entries, returns;
        for (const PatchedPlace& place : image.places)
            if (!place.refusal.empty() && place.site != DJS_NO_INDEX)
                entries[place.refusal].push_back(name_of(place.site));
        for (const ReturningFunction& function : image.returning)
            if (!function.refusal.empty())
                returns[function.refusal].push_back(name_of(function.sites.front()));
        describe(image, entries, false);
        describe(image, returns, true);
    }
    return sentences;
}

std::string describe_places(const std::vector<PlacedImage>& images) {
    size_t entries = 0, patched = 0, returns = 0, patched_returns = 0;
    for (const PlacedImage& image : images) {
        for (const PatchedPlace& place : image.places)
            if (place.site != DJS_NO_INDEX) {
                entries++;
                patched += place.refusal.empty();
            }
        for (const ReturningFunction& function : image.returning) {
            returns++;
            patched_returns += function.refusal.empty();
        }
    }
    const auto share = [](size_t part, size_t all) {
        return std::to_string(part) + " of " + std::to_string(all);
    };
    if (returns == 0)
        return share(patched, entries) + " functions";
    const std::string of_returns = "the returns of " + share(patched_returns, returns);
    return entries == 0 ? of_returns + " functions"
                        : share(patched, entries) + " functions, " + of_returns;
}

} // namespace djstap::injection
