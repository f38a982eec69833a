// Several sources as one: most of the time that a small kernel source takes is its headers'.
#include "module/kit_build.h"

#include <algorithm>
#include <sstream>

namespace djstap::module {

std::vector<SourceFile> combine_sources(const std::vector<SourceFile>& sources, size_t parts) {
    auto text_of = [&](std::string_view name) -> const std::string* {
        auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const SourceFile& file) { return file.name == name; });
        return found == sources.end() ? nullptr : &found->text;
    };
    std::vector<const SourceFile*> listed;
    const std::string* kbuild = text_of("Kbuild");
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
    // The largest first, each to the part that is smallest so far.
    std::vector<const SourceFile*> by_size = listed;
    std::stable_sort(by_size.begin(), by_size.end(), [](const SourceFile* a, const SourceFile* b) {
        return a->text.size() > b->text.size();
    });
    parts = std::clamp<size_t>(parts, 1, std::max<size_t>(listed.size(), 1));
    std::vector<size_t> sizes(parts);
    std::vector<std::vector<const SourceFile*>> members(parts);
    for (const SourceFile* file : by_size) {
        size_t smallest = std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
        sizes[smallest] += file->text.size();
        members[smallest].push_back(file);
    }
    std::vector<SourceFile> combined;
    for (size_t i = 0; i < parts; i++) {
        SourceFile part{"combined_" + std::to_string(i + 1) + ".c", {}};
        for (const SourceFile* file : listed) {
            if (std::find(members[i].begin(), members[i].end(), file) != members[i].end())
                part.text.append("#include \"").append(file->name).append("\"\n");
        }
        if (!part.text.empty())
            combined.push_back(part);
    }
    return combined;
}

} // namespace djstap::module
