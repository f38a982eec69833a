// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

void Writer::append(std::string_view bytes) {
    if (bytes.empty()) // of memory that there may not be
        return;
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    advance(bytes.size());
}

void Writer::grow(size_t size) {
    const auto used = static_cast<size_t>(at_ - buffer_.data());
    buffer_.resize(std::max(used + size, 2 * flush_at));
    at_ = buffer_.data() + used;
    end_ = buffer_.data() + buffer_.size();
    flush_from_ = buffer_.data() + flush_at;
}

void Writer::write_all(const char* bytes, size_t size) {
    for (size_t at = 0; at < size && !error_;) {
        const ssize_t written = write(fd_, bytes + at, size - at);
        if (written >= 0) {
            at += static_cast<size_t>(written);
        } else if (errno == EAGAIN) {
            pollfd ready{fd_, POLLOUT, 0};
            poll(&ready, 1, 1000);
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

void Writer::flush() {
    const auto used = static_cast<size_t>(at_ - buffer_.data());
    if (used && channel_) {
        const PieceHeader header{*channel_, static_cast<uint32_t>(used)};
        write_all(reinterpret_cast<const char*>(&header), sizeof header);
    }
    write_all(buffer_.data(), used);
    at_ = buffer_.data();
}

void Writer::next_file() {
    if (path_.empty())
        return;
    flush();
    files_++;
    if (channel_) {
        const PieceHeader header{*channel_ | PieceHeader::next_file, 0};
        write_all(reinterpret_cast<const char*>(&header), sizeof header);
    } else if (const int error = open_next_output(path_, files_, fd_); error && !error_) {
        error_ = error;
    }
}

int open_next_output(const std::string& path, uint64_t number, int fd) {
    struct stat existing{};
    if (fstat(fd, &existing) != 0 || !S_ISREG(existing.st_mode)) // a pipe has no next one
        return 0;
    const std::string next = path + "." + std::to_string(number);
    const FileDescriptor file(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return file && dup3(file.get(), fd, O_CLOEXEC) >= 0 ? 0 : errno;
}

Result<FileDescriptor> open_output(const std::string& path) {
    if (path.empty())
        return FileDescriptor();
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file)
        return Failure{path + ": " + std::strerror(errno), ""};
    return file;
}

} // namespace djstap
