// SPDX-License-Identifier: GPL-2.0-or-later
// A file descriptor with an owner.
#pragma once
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace djstap {

// Owns a file descriptor.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = other.release();
        }
        return *this;
    }
    ~FileDescriptor() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset() {
        if (fd_ >= 0)
            close(release());
    }
    // Returns the descriptor without closing it; the caller owns it from now on.
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

// Both ends of a pipe.
struct Pipe {
    FileDescriptor reader, writer;

    // Opens a pipe whose ends executed programs do not inherit. `flags`: further flags of pipe2().
    // Returns nothing, with errno, on failure.
    static std::optional<Pipe> open(int flags = 0) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | flags) != 0)
            return std::nullopt;
        return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
    }
};

} // namespace djstap
