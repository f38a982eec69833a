// SPDX-License-Identifier: GPL-2.0-or-later
#include "cache/cache.h"

#include "system/hash.h"
#include "system/trust.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace djstap {

namespace {

constexpr size_t alignment = 16;

struct Header {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_size;
    uint64_t checksum; // of the header with this field 0, and of the section entries
};

struct SectionEntry {
    uint64_t offset;
    uint64_t size;
};

uint64_t checksum(Header header, std::string_view entries) {
    header.checksum = 0;
    return hash_bytes(entries, hash_bytes({reinterpret_cast<const char*>(&header), sizeof header}));
}

size_t aligned(size_t size) {
    return (size + alignment - 1) / alignment * alignment;
}

} // namespace

std::string cache_directory() {
    auto set = [](const char* name) -> const char* {
        const char* value = std::getenv(name);
        return value && *value ? value : nullptr;
    };
    if (const char* own = set("DJSTAP_CACHE"))
        return own;
    const std::string of_the_system = "/var/cache/djstap";
    const char *xdg = set("XDG_CACHE_HOME"), *home = set("HOME");
    const std::string of_the_user = xdg    ? std::string(xdg) + "/djstap"
                                    : home ? std::string(home) + "/.cache/djstap"
                                           : of_the_system;
    return geteuid() == 0 && !check_trusted(of_the_user) ? of_the_system : of_the_user;
}

std::string TableWriter::finish() const {
    Header header = {};
    std::memcpy(header.magic, format_.magic, sizeof header.magic);
    header.version = format_.version;
    header.section_count = sections_.size();
    std::vector<SectionEntry> entries;
    size_t offset = aligned(sizeof header + sections_.size() * sizeof(SectionEntry));
    for (const std::string& section : sections_) {
        entries.push_back({offset, section.size()});
        offset += aligned(section.size());
    }
    header.file_size = offset;
    std::string_view raw(reinterpret_cast<const char*>(entries.data()),
                         entries.size() * sizeof(SectionEntry));
    header.checksum = checksum(header, raw);
    std::string file(offset, '\0');
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, raw.data(), raw.size());
    for (size_t i = 0; i < sections_.size(); i++)
        std::memcpy(file.data() + entries[i].offset, sections_[i].data(), sections_[i].size());
    return file;
}

bool TableView::read(std::string_view bytes, const TableFormat& format) {
    Header header;
    if (bytes.size() < sizeof header)
        return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    size_t entries_size = size_t(format.section_count) * sizeof(SectionEntry);
    if (std::memcmp(header.magic, format.magic, sizeof header.magic) != 0 ||
        header.version != format.version || header.section_count != format.section_count ||
        header.file_size != bytes.size() || bytes.size() < sizeof header + entries_size)
        return false;
    std::string_view raw = bytes.substr(sizeof header, entries_size);
    if (checksum(header, raw) != header.checksum)
        return false;
    for (uint32_t i = 0; i < format.section_count; i++) {
        SectionEntry entry;
        std::memcpy(&entry, raw.data() + i * sizeof entry, sizeof entry);
        if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset)
            return false;
        sections_.push_back(bytes.substr(entry.offset, entry.size));
    }
    return true;
}

std::optional<TableView> TableView::map(const std::string& path, const TableFormat& format) {
    auto file = MappedFile::map(open_trusted(path), path);
    TableView view;
    if (!file || !view.read((*file)->bytes(), format))
        return std::nullopt;
    view.file_ = std::move(*file);
    return view;
}

std::optional<TableView> TableView::hold(std::string bytes, const TableFormat& format) {
    TableView view;
    view.held_ = std::make_shared<std::string>(std::move(bytes));
    if (!view.read(*view.held_, format))
        return std::nullopt;
    return view;
}

std::string_view pool_string(std::string_view pool, uint32_t offset) {
    if (offset >= pool.size())
        return {};
    size_t end = pool.find('\0', offset);
    return end == std::string_view::npos ? std::string_view{} : pool.substr(offset, end - offset);
}

Result<std::string> read_cached(const std::string& path) {
    return read_file(open_trusted(path), path);
}

Status make_cache_folder(const std::string& path) {
    // Checked before, so that nothing is created in another user's folder, and after.
    Status trusted = check_trusted(path);
    if (!trusted)
        return trusted;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return Failure{path + ": cannot create: " + error.message(),
                       "set DJSTAP_CACHE to a writable folder"};
    return check_trusted(path);
}

Status write_cached(const std::string& path, std::string_view bytes) {
    Status made = make_cache_folder(std::filesystem::path(path).parent_path());
    return made ? write_atomically(path, bytes) : made;
}

} // namespace djstap
