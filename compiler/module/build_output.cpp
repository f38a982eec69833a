// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/build_output.h"

#include <algorithm>
#include <vector>

namespace djstap::module {

std::string relevant_lines(std::string_view output, const std::string& folder) {
    constexpr int most = 12;
    std::string kept;
    int count = 0;
    auto keep = [&](std::string_view line) {
        if (count++ >= most)
            return;
        kept.append("\n  ");
        // The build's folder is of no interest to the reader.
        for (size_t at; !folder.empty() && (at = line.find(folder + "/")) != std::string_view::npos;
             line.remove_prefix(at + folder.size() + 1))
            kept.append(line.substr(0, at));
        kept.append(line);
    };
    auto each_line = [&](auto&& use) {
        for (std::string_view rest = output; !rest.empty();) {
            size_t end = std::min(rest.find('\n'), rest.size());
            if (end)
                use(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    };
    each_line([&](std::string_view line) {
        for (std::string_view sign : {"error:", "Error:", "ERROR:", "warning: objtool", "No space",
                                      "not found", "undefined reference", "Killed"}) {
            if (line.find(sign) != std::string_view::npos && !line.starts_with("make")) {
                keep(line);
                return;
            }
        }
    });
    if (count == 0) {
        std::vector<std::string_view> all;
        each_line([&](std::string_view line) { all.push_back(line); });
        for (size_t i = all.size() > 5 ? all.size() - 5 : 0; i < all.size(); i++)
            keep(all[i]);
    }
    if (count > most)
        kept.append("\n  … and " + std::to_string(count - most) + " more");
    return kept;
}

bool has_warnings(std::string_view output) {
    while (!output.empty()) {
        size_t end = std::min(output.find('\n'), output.size());
        std::string_view line = output.substr(0, end);
        output.remove_prefix(std::min(end + 1, output.size()));
        bool warns = line.find("warning:") != std::string_view::npos ||
                     line.find("WARNING:") != std::string_view::npos;
        if (warns && line.find("unexpected non-allocatable section") == std::string_view::npos)
            return true;
    }
    return false;
}

} // namespace djstap::module
