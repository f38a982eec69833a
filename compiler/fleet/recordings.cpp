// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet/recordings.h"

#include "diagnostics/plain_text.h"
#include "fleet/merge.h"
#include "system/file.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace djstap::fleet {

namespace {

// Takes all frames up to the end of the file, or to where it is damaged. Returns why the last frame
// is not the script's.
std::string take_file(Merge& merge, const std::string& host, const std::string& path) {
    const auto bytes = read_file(path);
    if (!bytes)
        return bytes.failure().message;
    SnapshotReader reader;
    reader.add(*bytes);
    while (true) {
        auto frame = reader.next();
        if (!frame)
            return path + ": " + frame.failure().message;
        if (!*frame)
            return reader.at_border() ? "" : path + ": the last frame is incomplete";
        merge.take(host, std::move(**frame));
    }
}

std::string name_of(const std::string& path) {
    return std::filesystem::path(path).stem().string();
}

} // namespace

Result<MergedRecordings> merge_recordings(const std::vector<std::string>& paths) {
    Merge merge;
    std::set<std::string> hosts;
    for (const std::string& path : paths) {
        const auto same = [&](const std::string& other) { return name_of(other) == name_of(path); };
        // The path tells files of the same name apart.
        const std::string host = std::ranges::count_if(paths, same) == 1 ? name_of(path) : path;
        if (!hosts.insert(host).second)
            return Failure{path + " is named twice", "each file is merged once"};
        merge.expect(host);
        merge.end(host, take_file(merge, host, path));
    }
    MergedRecordings merged;
    for (const auto& [host, printed] : merge.take_printed())
        merged.text += lines_of(host, printed.text);
    merged.text += text_of(merge.globals());
    merged.missing = text_of(merge.missing());
    return merged;
}

} // namespace djstap::fleet
