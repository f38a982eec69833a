// SPDX-License-Identifier: GPL-2.0-or-later
// The index of the library: name → files. One block of bytes that is used as it is stored in the
// cache.
#pragma once
#include "library/scan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::library {

struct IndexedFile {
    std::string path;
    uint64_t size = 0;
    int64_t modified = 0; // ns
    bool operator==(const IndexedFile&) const = default;
};

// Returns what an index stores of a file; nothing if there is no such file.
std::optional<IndexedFile> describe_file(const std::string& path);

class Index {
  public:
    // Scans every file; files that cannot be read define no names.
    static Index build(const std::vector<IndexedFile>& files);
    // Loads the index in `path` if it is intact and describes exactly `files`.
    static std::optional<Index> load(const std::string& path,
                                     const std::vector<IndexedFile>& files);
    // Returns whether no library can use the index in `path` any more: it is damaged, describes no
    // file, or one of the files that it describes has changed or is gone.
    static bool outdated(const std::string& path);
    // Writes a temporary file next to `path` and renames it. Returns false on failure: the index
    // remains usable.
    bool save(const std::string& path) const;

    // Returns the numbers of the files that define this name, ascending and unique.
    std::vector<uint32_t> files_defining(NameKind kind, std::string_view name) const;
    // Returns every name of a kind with a file that defines it; ascending.
    std::vector<std::pair<std::string_view, uint32_t>> names(NameKind kind) const;

  private:
    struct Header;
    struct File;
    struct Name;
    const Header& header() const;
    const File* files() const;
    const Name* table() const;
    std::string_view text(uint32_t offset, uint32_t length) const;
    bool intact() const;
    bool valid(const std::vector<IndexedFile>& files) const;

    std::string bytes_;
};

} // namespace djstap::library
