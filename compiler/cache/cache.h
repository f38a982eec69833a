// SPDX-License-Identifier: GPL-2.0-or-later
// Files that djstap caches: mapped tables behind a header that distinguishes an intact file from a
// broken one.
#pragma once
#include "diagnostics/result.h"
#include "system/file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Returns $DJSTAP_CACHE, else $XDG_CACHE_HOME/djstap, else ~/.cache/djstap; /var/cache/djstap if
// there is no home, or for root if the home belongs to another user (sudo -E).
std::string cache_directory();

// Identifies a kind of cached file; `version` changes with its layout.
struct TableFormat {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
};

// Collects sections and lays them out as one cached file.
class TableWriter {
  public:
    explicit TableWriter(const TableFormat& format) : format_(format) {}
    template <class T> void add(const std::vector<T>& records) {
        add(std::string(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(T)));
    }
    void add(std::string bytes) { sections_.push_back(std::move(bytes)); }
    // Returns the whole file.
    std::string finish() const;

  private:
    TableFormat format_;
    std::vector<std::string> sections_;
};

// Sections of a cached file, mapped or held in memory.
class TableView {
  public:
    // Returns nothing if the file is absent, truncated, of another version or format, or not
    // trusted.
    static std::optional<TableView> map(const std::string& path, const TableFormat& format);
    static std::optional<TableView> hold(std::string bytes, const TableFormat& format);

    template <class T> std::span<const T> section(size_t index) const {
        std::string_view bytes = raw(index);
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    std::string_view raw(size_t index) const { return sections_[index]; }

  private:
    bool read(std::string_view bytes, const TableFormat& format);
    std::shared_ptr<MappedFile> file_;
    std::shared_ptr<std::string> held_;
    std::vector<std::string_view> sections_;
};

// Returns the string at `offset` of a pool of NUL-terminated strings; "" if the offset is out of
// range.
std::string_view pool_string(std::string_view pool, uint32_t offset);

// A file of the cache: it is read only if it is trusted (system/trust.h), and written only where it
// will be.
Result<std::string> read_cached(const std::string& path);
Status write_cached(const std::string& path, std::string_view bytes);
// Creates a folder of the cache with its parents, unless it exists.
Status make_cache_folder(const std::string& path);

} // namespace djstap
