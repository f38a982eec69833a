// A file descriptor with an owner.
#pragma once
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
    // Yields it without closing it: it is the caller's from now on.
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

} // namespace djstap
