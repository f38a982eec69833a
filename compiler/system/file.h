// SPDX-License-Identifier: GPL-2.0-or-later
// Files: read whole, written whole, mapped.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace djstap {

// "PATH: WHAT: strerror(errno)".
Failure path_failure(const std::string& path, std::string_view what);

// read(), once more where a signal came first. Negative, with errno, on failure.
ssize_t read_some(int fd, void* to, size_t size);
// Appends what is left of a descriptor's file. False, with errno, on failure; what was read until
// then is kept. Ends early once `text` is longer than `most`.
bool read_rest(int fd, std::string& text, size_t most = SIZE_MAX);
// Appends all of a descriptor's file, wherever the descriptor stands, which does not move. False,
// with errno, on failure.
bool read_from_start(int fd, std::string& text);
// Writes all of it; false, with errno, on failure.
bool write_all(int fd, std::string_view bytes);

// The whole file, also one of /proc and /sys, whose size is not known. After a failure errno is the
// reason.
Result<std::string> read_file(const std::string& path);
// The same for one that is open already; without a descriptor the failure is that of opening it.
Result<std::string> read_file(const FileDescriptor& file, const std::string& path);
// Without white space at either end: what files of /proc and /sys say in one line.
std::string trimmed(std::string_view text);

// Writes a new file or over an old one, with mode 0644; on failure no regular file of that name is
// left.
Status write_file(const std::string& path, std::string_view bytes);
// Writes next to `path` and renames, so that no reader sees half a file. Creates the folder.
Status write_atomically(const std::string& path, std::string_view bytes);

// A file's bytes, mapped read-only for the object's life.
class MappedFile {
  public:
    static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
    // The same for one that is open already; without a descriptor, errno says why.
    static Result<std::unique_ptr<MappedFile>> map(const FileDescriptor& file,
                                                   const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::string_view bytes() const { return {data_, size_}; }

  private:
    MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
    const char* data_;
    size_t size_;
};

} // namespace djstap
