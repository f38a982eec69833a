// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/versions.h"

#include "system/file.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace djstap::module {

namespace {

// struct modversion_info: an unsigned long and the name, in 64 bytes.
constexpr size_t name_size = 56;

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
        const size_t end = std::min(line.find('\t'), line.size());
        fields.push_back(line.substr(0, end));
        if (end == line.size())
            return fields;
        line.remove_prefix(end + 1);
    }
}

} // namespace

Result<VersionRows> version_rows(const std::string& build_dir, const std::set<std::string>& symbols,
                                 const std::set<std::string>& known) {
    auto list = read_file(build_dir + "/Module.symvers");
    if (!list)
        return list.failure();
    VersionRows rows;
    rows.unknown = symbols;
    std::string_view text = *list;
    while (!text.empty() && !rows.unknown.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const size_t crc = line.find('\t'), name = line.find('\t', crc + 1);
        if (crc == std::string_view::npos || name == std::string_view::npos)
            continue;
        const auto found = rows.unknown.find(std::string(line.substr(crc + 1, name - crc - 1)));
        if (found == rows.unknown.end())
            continue;
        // checksum, name, provider, kind of export, namespace
        const std::vector<std::string_view> fields = fields_of(line);
        const bool in_namespace = fields.size() > 4 && !fields[4].empty();
        if (found->size() >= name_size || fields.size() < 3 || fields[2] != "vmlinux" ||
            in_namespace)
            rows.special.insert(*found);
        if (found->size() < name_size && !known.contains(*found))
            rows.text.append("{").append(fields[0]).append(", \"").append(*found).append("\"},\n");
        rows.unknown.erase(found);
    }
    return rows;
}

std::string version_source(const VersionRows& rows) {
    if (rows.text.empty())
        return {};
    return "static const struct { unsigned long crc; char name[" + std::to_string(name_size) +
           "]; } djs_versions[]\n__attribute__((__section__(\"__versions\"), __used__)) = {\n" +
           rows.text + "};\n";
}

} // namespace djstap::module
