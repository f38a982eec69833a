// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/writer.h"

#include "session/signals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

namespace {

// How long a reader may take nothing once the session is to end: it may show a page to its user.
constexpr std::chrono::seconds reader_patience{10}, insisted_patience{1};

// How much of `bytes` one write may take: a write of up to PIPE_BUF bytes is not divided by another
// writer of the pipe or socket, and takes whole lines.
size_t undivided(std::string_view bytes) {
    const std::string_view piece = bytes.substr(0, PIPE_BUF);
    if (piece.size() == bytes.size())
        return piece.size();
    const size_t newline = piece.rfind('\n');
    return newline == std::string_view::npos ? piece.size() : newline + 1;
}

bool may_be_divided(int fd) {
    struct stat status{};
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

} // namespace

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

int write_to_reader(int fd, std::string_view bytes, Lines lines) {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> stalled;
    const bool divided = lines == Lines::Whole && bytes.size() > PIPE_BUF && may_be_divided(fd);
    while (!bytes.empty()) {
        const int requests = StopSignals::requests();
        pollfd ready{fd, POLLOUT, 0};
        const int has_room = requests ? poll(&ready, 1, 100) : 1;
        if (has_room <= 0) {
            const auto now = Clock::now();
            if (!stalled)
                stalled = now;
            else if (now - *stalled > (requests > 1 ? insisted_patience : reader_patience))
                return ETIME;
            continue;
        }
        // A pipe that has room takes as much at once. A signal interrupts a write that waits.
        const size_t size = requests || divided ? undivided(bytes) : bytes.size();
        const ssize_t written = write(fd, bytes.data(), size);
        if (written >= 0) {
            bytes.remove_prefix(static_cast<size_t>(written));
            stalled.reset();
        } else if (errno == EAGAIN) {
            poll(&ready, 1, 1000);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

void Writer::write_all(const char* bytes, size_t size) {
    if (!error_)
        error_ = write_to_reader(fd_, {bytes, size}, channel_ ? Lines::AnyPart : Lines::Whole);
}

void Writer::flush_first(size_t size) {
    const auto used = static_cast<size_t>(at_ - buffer_.data());
    if (size && channel_) {
        const PieceHeader header{*channel_, static_cast<uint32_t>(size)};
        write_all(reinterpret_cast<const char*>(&header), sizeof header);
    }
    write_all(buffer_.data(), size);
    if (size < used)
        std::memmove(buffer_.data(), buffer_.data() + size, used - size);
    at_ = buffer_.data() + (used - size);
}

void Writer::flush() {
    flush_first(static_cast<size_t>(at_ - buffer_.data()));
}

// A line whose end has not been appended yet stays.
void Writer::flush_lines() {
    const std::string_view used(buffer_.data(), static_cast<size_t>(at_ - buffer_.data()));
    const size_t newline = used.rfind('\n');
    flush_first(newline == std::string_view::npos ? used.size() : newline + 1);
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
