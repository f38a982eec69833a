// SPDX-License-Identifier: GPL-2.0-or-later
#include "library/index.h"

#include "cache/cache.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <tuple>

namespace djstap::library {

namespace {

constexpr char magic[8] = {'D', 'J', 'S', 'T', 'L', 'I', 'B', '2'};

} // namespace

std::optional<IndexedFile> describe_file(const std::string& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    return IndexedFile{path, static_cast<uint64_t>(status.st_size),
                       int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec};
}

struct Index::Header {
    char magic[8];
    uint32_t files, names, text, reserved;
};
struct Index::File {
    uint32_t path, length;
    uint64_t size;
    int64_t modified;
};
struct Index::Name {
    uint32_t kind, name, length, file;
};

// The bytes of a std::string are aligned for any of these: operator new allocates them, because
// those of a header alone do not fit into the object.
const Index::Header& Index::header() const {
    static_assert(sizeof(Header) > 23, "no library's std::string has room for it");
    return *reinterpret_cast<const Header*>(bytes_.data());
}
const Index::File* Index::files() const {
    return reinterpret_cast<const File*>(bytes_.data() + sizeof(Header));
}
const Index::Name* Index::table() const {
    return reinterpret_cast<const Name*>(bytes_.data() + sizeof(Header) +
                                         header().files * sizeof(File));
}
std::string_view Index::text(uint32_t offset, uint32_t length) const {
    const size_t start = bytes_.size() - header().text;
    return std::string_view(bytes_).substr(start + offset, length);
}

Index Index::build(const std::vector<IndexedFile>& files) {
    struct Entry {
        DefinedName name;
        uint32_t file;
    };
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < files.size(); ++i) {
        if (const auto content = read_file(files[i].path))
            for (DefinedName& name : scan(*content))
                entries.push_back({std::move(name), i});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.name.kind, a.name.name, a.file) <
               std::tie(b.name.kind, b.name.name, b.file);
    });
    entries.erase(std::unique(entries.begin(), entries.end(),
                              [](const Entry& a, const Entry& b) {
                                  return a.name == b.name && a.file == b.file;
                              }),
                  entries.end());
    std::string text;
    std::vector<File> file_table;
    std::vector<Name> name_table;
    for (const IndexedFile& file : files) {
        file_table.push_back({static_cast<uint32_t>(text.size()),
                              static_cast<uint32_t>(file.path.size()), file.size, file.modified});
        text += file.path;
    }
    for (const Entry& entry : entries) {
        name_table.push_back({static_cast<uint32_t>(entry.name.kind),
                              static_cast<uint32_t>(text.size()),
                              static_cast<uint32_t>(entry.name.name.size()), entry.file});
        text += entry.name.name;
    }
    Header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.files = static_cast<uint32_t>(file_table.size());
    header.names = static_cast<uint32_t>(name_table.size());
    header.text = static_cast<uint32_t>(text.size());
    Index index;
    index.bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    index.bytes_.append(reinterpret_cast<const char*>(file_table.data()),
                        file_table.size() * sizeof(File));
    index.bytes_.append(reinterpret_cast<const char*>(name_table.data()),
                        name_table.size() * sizeof(Name));
    index.bytes_ += text;
    return index;
}

bool Index::intact() const {
    if (bytes_.size() < sizeof(Header) || std::memcmp(bytes_.data(), magic, sizeof magic) != 0)
        return false;
    const Header& head = header();
    const uint64_t needed = sizeof(Header) + uint64_t{head.files} * sizeof(File) +
                            uint64_t{head.names} * sizeof(Name) + head.text;
    if (needed != bytes_.size())
        return false;
    auto inside = [&](uint32_t offset, uint32_t length) {
        return uint64_t{offset} + length <= head.text;
    };
    for (uint32_t i = 0; i < head.files; ++i)
        if (!inside(files()[i].path, files()[i].length))
            return false;
    for (uint32_t i = 0; i < head.names; ++i)
        if (!inside(table()[i].name, table()[i].length) || table()[i].file >= head.files)
            return false;
    return true;
}

bool Index::valid(const std::vector<IndexedFile>& expected) const {
    if (!intact() || header().files != expected.size())
        return false;
    for (uint32_t i = 0; i < header().files; ++i) {
        const File& file = files()[i];
        if (file.size != expected[i].size || file.modified != expected[i].modified ||
            text(file.path, file.length) != expected[i].path)
            return false;
    }
    return true;
}

bool Index::outdated(const std::string& path) {
    Index index;
    auto bytes = read_cached(path);
    if (!bytes)
        return false; // another user's, or removed just now
    index.bytes_ = std::move(*bytes);
    if (!index.intact() || !index.header().files)
        return true;
    for (uint32_t i = 0; i < index.header().files; ++i) {
        const File& file = index.files()[i];
        const std::string name(index.text(file.path, file.length));
        if (describe_file(name) != IndexedFile{name, file.size, file.modified})
            return true;
    }
    return false;
}

std::optional<Index> Index::load(const std::string& path, const std::vector<IndexedFile>& files) {
    Index index;
    auto bytes = read_cached(path);
    if (!bytes)
        return std::nullopt;
    index.bytes_ = std::move(*bytes);
    if (!index.valid(files))
        return std::nullopt;
    return index;
}

bool Index::save(const std::string& path) const {
    return static_cast<bool>(write_cached(path, bytes_));
}

std::vector<uint32_t> Index::files_defining(NameKind kind, std::string_view name) const {
    const Name* begin = table();
    const Name* end = begin + header().names;
    const Name* found =
        std::lower_bound(begin, end, name, [&](const Name& entry, std::string_view wanted) {
            if (entry.kind != static_cast<uint32_t>(kind))
                return entry.kind < static_cast<uint32_t>(kind);
            return text(entry.name, entry.length) < wanted;
        });
    std::vector<uint32_t> result;
    for (; found != end && found->kind == static_cast<uint32_t>(kind) &&
           text(found->name, found->length) == name;
         ++found)
        result.push_back(found->file);
    return result;
}

std::vector<std::pair<std::string_view, uint32_t>> Index::names(NameKind kind) const {
    std::vector<std::pair<std::string_view, uint32_t>> result;
    for (uint32_t i = 0; i < header().names; ++i)
        if (table()[i].kind == static_cast<uint32_t>(kind))
            result.emplace_back(text(table()[i].name, table()[i].length), table()[i].file);
    return result;
}

} // namespace djstap::library
