// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles several sources as one: the headers take most of the time of a small kernel source.
#include "module/kit_build.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace djstap::module {

namespace {

// Returns at most `parts` groups of similar size, each in the order of `files`.
std::vector<std::vector<const SourceFile*>> balance(const std::vector<const SourceFile*>& files,
                                                    size_t parts) {
    parts = std::clamp<size_t>(parts, 1, std::max<size_t>(files.size(), 1));
    // The largest first, each to the group that is smallest so far.
    std::vector<size_t> order(files.size()), group_of(files.size()), sizes(parts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return files[a]->text.size() > files[b]->text.size();
    });
    for (size_t file : order) {
        group_of[file] = std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
        sizes[group_of[file]] += files[file]->text.size();
    }
    std::vector<std::vector<const SourceFile*>> groups(parts);
    for (size_t file = 0; file < files.size(); file++)
        groups[group_of[file]].push_back(files[file]);
    return groups;
}

const std::string* text_of(const std::vector<SourceFile>& sources, std::string_view name) {
    auto found = std::find_if(sources.begin(), sources.end(),
                              [&](const SourceFile& file) { return file.name == name; });
    return found == sources.end() ? nullptr : &found->text;
}

} // namespace

std::vector<SourceFile> combine_sources(const std::vector<SourceFile>& sources, size_t parts) {
    std::vector<const SourceFile*> listed;
    const std::string* kbuild = text_of(sources, "Kbuild");
    std::istringstream words(kbuild ? *kbuild : "");
    for (std::string word; words >> word;) {
        if (!word.ends_with(".o") || word == "stub.o")
            continue;
        word.back() = 'c';
        for (const SourceFile& file : sources) {
            if (file.name == word && std::find(listed.begin(), listed.end(), &file) == listed.end())
                listed.push_back(&file);
        }
    }
    // Sources that include no kernel header are combined separately: they may define names that the
    // kernel's headers use, too (sort).
    std::vector<const SourceFile*> plain, others;
    for (const SourceFile* file : listed)
        (file->text.find("#include <") == std::string::npos ? plain : others).push_back(file);
    std::vector<std::vector<const SourceFile*>> groups = balance(others, parts);
    groups.push_back(plain);

    std::vector<SourceFile> combined;
    for (const auto& group : groups) {
        if (group.empty())
            continue;
        SourceFile part{"combined_" + std::to_string(combined.size() + 1) + ".c", {}};
        for (const SourceFile* file : group)
            part.text.append("#include \"").append(file->name).append("\"\n");
        combined.push_back(part);
    }
    return combined;
}

} // namespace djstap::module
