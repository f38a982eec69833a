// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/markers.h"

#include "system/file.h"

#include <algorithm>
#include <sstream>

namespace djstap {

namespace {

constexpr std::string_view section_name = ".djstap.marks";
constexpr std::string_view text_prefix = "mark:";
constexpr std::string_view alias_prefix = "alias djstap_mark:";

template <class T> void sort_unique(std::vector<T>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

} // namespace

std::vector<Marker> markers_in(const ElfFile& file) {
    std::vector<Marker> markers;
    const ElfSection* section = file.section(section_name);
    std::string_view rest = section ? section->bytes : std::string_view();
    while (!rest.empty()) {
        const auto text = take_string(rest);
        const auto format = text ? take_string(rest) : std::nullopt;
        if (!format || !text->starts_with(text_prefix) || text->size() == text_prefix.size())
            break;
        markers.push_back({std::string(text->substr(text_prefix.size())), std::string(*format)});
    }
    sort_unique(markers);
    return markers;
}

std::vector<ListedMarker> listed_markers(const KernelFiles& kernel) {
    std::vector<ListedMarker> markers;
    auto text = kernel.modules.empty() ? Result<std::string>(Failure{})
                                       : read_file(kernel.modules + "/modules.alias");
    std::istringstream lines(text ? *text : std::string());
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(alias_prefix))
            continue;
        const size_t end = line.find(' ', alias_prefix.size());
        if (end == std::string::npos)
            continue;
        markers.push_back(
            {line.substr(alias_prefix.size(), end - alias_prefix.size()), line.substr(end + 1)});
    }
    sort_unique(markers);
    return markers;
}

} // namespace djstap
