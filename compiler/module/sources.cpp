// SPDX-License-Identifier: GPL-2.0-or-later
// The sources of the runtime.
#include "module/kit_build.h"
#include "system/file.h"

#include <algorithm>
#include <filesystem>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

bool is_source(const fs::path& path) {
    std::string name = path.filename();
    // left by a build in the folder itself
    if (name.starts_with('.') || name.ends_with(".mod.c"))
        return false;
    return name == "Kbuild" || name.ends_with(".c") || name.ends_with(".h") ||
           name.ends_with(".list") || name.ends_with(".def") || name.ends_with(".S");
}

} // namespace

Result<std::vector<SourceFile>> read_sources(const RuntimeSources& sources) {
    std::vector<SourceFile> files;
    std::error_code error;
    fs::recursive_directory_iterator at(sources.directory, error), end;
    for (; !error && at != end; at.increment(error)) {
        if (!is_source(at->path()))
            continue;
        auto text = read_file(at->path());
        if (!text)
            return text.failure();
        files.push_back({at->path().lexically_relative(sources.directory), std::move(*text)});
    }
    if (error)
        return Failure{"the runtime's sources cannot be read: " + sources.directory + ": " +
                           error.message(),
                       ""};
    std::sort(files.begin(), files.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.name < b.name; });
    bool has_kbuild = std::any_of(files.begin(), files.end(),
                                  [](const SourceFile& file) { return file.name == "Kbuild"; });
    if (!has_kbuild)
        return Failure{
            "the runtime's sources are not in " + sources.directory + ": Kbuild is missing", ""};
    return files;
}

} // namespace djstap::module
