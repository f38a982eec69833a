// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/file.h"

#include "system/regular_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace djstap {

Failure path_failure(const std::string& path, std::string_view what) {
    const int error = errno;
    return {path + ": " + std::string(what) + ": " + std::strerror(error), ""};
}

ssize_t read_some(int fd, void* to, size_t size) {
    ssize_t count;
    do
        count = read(fd, to, size);
    while (count < 0 && errno == EINTR);
    return count;
}

namespace {

constexpr size_t block = 65536;
// The second read usually finds the end. A string zeroes what is read into, and most files are
// small.
constexpr size_t end_probe = 512;

// Appends what read(to, size) returns until there is no more, or `text` is longer than `most`;
// starts with `step` bytes.
template <class Read> bool append(std::string& text, size_t most, size_t step, const Read& read) {
    for (size_t next = end_probe; text.size() <= most; next = block) {
        const size_t before = text.size(), room = most - before;
        // one more byte shows that it is too long
        step = std::min(step, room < SIZE_MAX ? room + 1 : room);
        text.resize(before + step);
        const ssize_t count = read(text.data() + before, step);
        text.resize(before + static_cast<size_t>(count > 0 ? count : 0));
        if (count <= 0)
            return count == 0;
        step = next;
    }
    return true;
}

} // namespace

bool read_rest(int fd, std::string& text, size_t most) {
    // A file of known size is read at once, followed by one read for its end.
    struct stat status = {};
    const bool is_plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    const size_t step =
        is_plain && status.st_size > 0 ? static_cast<size_t>(status.st_size) : block;
    return append(text, most, step,
                  [fd](char* to, size_t size) { return read_some(fd, to, size); });
}

bool read_from_start(int fd, std::string& text) {
    off_t at = 0;
    return append(text, SIZE_MAX, block, [&](char* to, size_t size) {
        ssize_t count;
        do
            count = pread(fd, to, size, at);
        while (count < 0 && errno == EINTR);
        at += count > 0 ? count : 0;
        return count;
    });
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<size_t>(count));
        } else if (errno == EAGAIN) { // whoever shares the file has made it non-blocking
            pollfd ready{fd, POLLOUT, 0};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

Result<std::string> read_file(const std::string& path) {
    return read_file(FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

Result<std::string> read_file(const FileDescriptor& file, const std::string& path) {
    if (!file)
        return path_failure(path, "cannot open");
    std::string text;
    if (!read_rest(file.get(), text))
        return path_failure(path, "cannot read");
    return text;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const size_t begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

namespace {

// path_failure(), with a hint where the disk is full.
Failure write_failure(const std::string& path, std::string_view what) {
    const int error = errno;
    Failure failed = path_failure(path, what);
    if (error == ENOSPC || error == EDQUOT)
        failed.hint = "free some space and run djstap again";
    return failed;
}

} // namespace

Status write_file(const std::string& path, std::string_view bytes) {
    FileDescriptor file(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
    if (!file)
        return write_failure(path, "cannot create");
    struct stat status = {};
    const bool removable = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (write_all(file.get(), bytes) && close(file.release()) == 0)
        return Done{};
    Failure failed = write_failure(path, "cannot write");
    if (removable)
        unlink(path.c_str());
    return failed;
}

Status replace_file(const std::string& path, std::string_view bytes) {
    std::string temporary = path + ".XXXXXX";
    FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
    if (!file)
        return write_failure(temporary, "cannot create");
    if (!write_all(file.get(), bytes)) {
        Failure failed = write_failure(temporary, "cannot write");
        unlink(temporary.c_str());
        return failed;
    }
    fchmod(file.get(), 0644);
    if (close(file.release()) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
        Failure failed = write_failure(path, "cannot write");
        unlink(temporary.c_str());
        return failed;
    }
    return Done{};
}

Status write_atomically(const std::string& path, std::string_view bytes) {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, error);
    if (error)
        return Failure{folder.string() + ": cannot create: " + error.message(), ""};
    return replace_file(path, bytes);
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
    const auto file = open_regular(path);
    return file ? map(*file, path) : file.failure();
}

Result<std::unique_ptr<MappedFile>> MappedFile::map(const FileDescriptor& file,
                                                    const std::string& path) {
    if (!file)
        return path_failure(path, "cannot open");
    struct stat status = {};
    if (fstat(file.get(), &status) != 0)
        return path_failure(path, "cannot stat");
    if (!S_ISREG(status.st_mode))
        return Failure{path + ": is not a file", ""};
    const auto size = static_cast<size_t>(status.st_size);
    void* data = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0) : nullptr;
    if (data == MAP_FAILED)
        return path_failure(path, "cannot map");
    return std::unique_ptr<MappedFile>(new MappedFile(static_cast<const char*>(data), size));
}

MappedFile::~MappedFile() {
    if (data_)
        munmap(const_cast<char*>(data_), size_);
}

} // namespace djstap
