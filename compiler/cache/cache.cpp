#include "cache/cache.h"

#include "cache/trust.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
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
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    auto mix = [&hash](std::string_view bytes) {
        for (unsigned char byte : bytes)
            hash = (hash ^ byte) * 0x100000001b3;
    };
    mix({reinterpret_cast<const char*>(&header), sizeof header});
    mix(entries);
    return hash;
}

size_t aligned(size_t size) {
    return (size + alignment - 1) / alignment * alignment;
}

Failure system_failure(const std::string& path, const char* what) {
    return {path + ": " + what + ": " + std::strerror(errno), ""};
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

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
    return map(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
}

Result<std::unique_ptr<MappedFile>> MappedFile::open_trusted(const std::string& path) {
    return map(djstap::open_trusted(path), path);
}

// Takes the descriptor.
Result<std::unique_ptr<MappedFile>> MappedFile::map(int fd, const std::string& path) {
    if (fd < 0)
        return system_failure(path, "cannot open");
    struct stat status = {};
    if (fstat(fd, &status) != 0) {
        Failure failure = system_failure(path, "cannot stat");
        close(fd);
        return failure;
    }
    if (!S_ISREG(status.st_mode)) {
        close(fd);
        return Failure{path + ": is not a file", ""};
    }
    void* data = nullptr;
    size_t size = status.st_size;
    if (size > 0)
        data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    if (data == MAP_FAILED) {
        errno = error;
        return system_failure(path, "cannot map");
    }
    return std::unique_ptr<MappedFile>(new MappedFile(static_cast<const char*>(data), size));
}

MappedFile::~MappedFile() {
    if (data_)
        munmap(const_cast<char*>(data_), size_);
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
    auto file = MappedFile::open_trusted(path);
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

namespace {

// Takes the descriptor.
Result<std::string> read_all(int fd, const std::string& path) {
    if (fd < 0)
        return system_failure(path, "cannot open");
    std::string text;
    constexpr size_t step = 1 << 18;
    for (;;) {
        size_t before = text.size();
        text.resize(before + step);
        ssize_t count = read(fd, text.data() + before, step);
        if (count < 0 && errno == EINTR)
            count = 0;
        else if (count <= 0) {
            Failure failure = system_failure(path, "cannot read");
            close(fd);
            text.resize(before);
            if (count < 0)
                return failure;
            return text;
        }
        text.resize(before + count);
    }
}

} // namespace

Result<std::string> read_whole(const std::string& path) {
    return read_all(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
}

Result<std::string> read_cached(const std::string& path) {
    return read_all(open_trusted(path), path);
}

Status make_cache_folder(const std::string& path) {
    // Before, so that nothing is made in somebody else's folder; and after.
    Status trusted = check_trusted(path);
    if (!trusted)
        return trusted;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return Failure{path + ": cannot create: " + error.message(),
                       "set DJSTAP_CACHE to a folder that can be written to"};
    return check_trusted(path);
}

Status write_cached(const std::string& path, std::string_view bytes) {
    Status made = make_cache_folder(std::filesystem::path(path).parent_path());
    return made ? write_atomically(path, bytes) : made;
}

Status write_atomically(const std::string& path, std::string_view bytes) {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, error);
    if (error)
        return Failure{folder.string() + ": cannot create: " + error.message(), ""};
    std::string temporary = path + ".XXXXXX";
    int fd = mkostemp(temporary.data(), O_CLOEXEC);
    if (fd < 0)
        return system_failure(temporary, "cannot create");
    for (size_t done = 0; done < bytes.size();) {
        ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            Failure failure = system_failure(temporary, "cannot write");
            close(fd);
            unlink(temporary.c_str());
            return failure;
        }
        done += count;
    }
    fchmod(fd, 0644);
    if (close(fd) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
        Failure failure = system_failure(path, "cannot write");
        unlink(temporary.c_str());
        return failure;
    }
    return Done{};
}

} // namespace djstap
