// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet/recordings.h"

#include "fleet/merge.h"
#include "system/file.h"

#include <filesystem>
#include <map>

namespace djstap::fleet {

namespace {

// Takes all frames up to the end of the file, or to where it is damaged. Returns why the last frame
// is not the script's.
std::string take_file(Merge& merge, const std::string& host, const std::string& path) {
    const auto bytes = read_file(path);
    if (!bytes)
        return bytes.failure().message;
    FrameReader reader;
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

} // namespace

Result<MergedRecordings> merge_recordings(const std::vector<std::string>& paths) {
    Merge merge;
    std::map<std::string, std::string> files; // by the machine
    for (const std::string& path : paths) {
        const std::string host = std::filesystem::path(path).stem().string();
        if (const auto [known, is_new] = files.emplace(host, path); !is_new)
            return Failure{known->second + " and " + path + " are both of the machine '" + host +
                               "'",
                           "the name of each file is that of its machine"};
        merge.expect(host);
        merge.end(host, take_file(merge, host, path));
    }
    MergedRecordings merged;
    for (const auto& [host, printed] : merge.take_printed()) {
        merged.text += host + ": " + printed.text;
        if (!printed.text.ends_with('\n'))
            merged.text += '\n';
    }
    merged.text += text_of(merge.globals());
    merged.missing = text_of(merge.missing());
    return merged;
}

} // namespace djstap::fleet
