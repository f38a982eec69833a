// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/refusals.h"

#include <algorithm>
#include <map>

namespace djstap::injection {

std::vector<std::string> describe_refusals(const struct ::djs_script& script,
                                           const std::vector<PlacedImage>& images, size_t most) {
    std::vector<std::string> sentences;
    for (const PlacedImage& image : images) {
        std::map<std::string, std::vector<std::string>> functions; // by the reason
        for (const SitePlace& place : image.places)
            if (!place.refusal.empty())
                functions[place.refusal].emplace_back(script.site_texts +
                                                      script.sites[place.site].function);
        for (auto& [reason, names] : functions) {
            std::sort(names.begin(), names.end());
            const size_t shown = std::min(names.size(), most), others = names.size() - shown;
            std::string sentence;
            for (size_t i = 0; i < shown; i++)
                sentence += (i == 0                          ? ""
                             : i + 1 == shown && others == 0 ? " and "
                                                             : ", ") +
                            ("'" + names[i] + "'");
            if (others > 0)
                sentence += " and " + std::to_string(others) + " more functions";
            sentences.push_back(sentence + " of '" + image.path +
                                (names.size() == 1 ? "' is not probed: " : "' are not probed: ") +
                                reason);
        }
    }
    return sentences;
}

} // namespace djstap::injection
