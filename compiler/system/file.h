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

// read(), restarted after a signal. Negative, with errno, on failure.
ssize_t read_some(int fd, void* to, size_t size);
// Appends the rest of a descriptor's file. Returns false, with errno, on failure; what was read
// before is kept. Ends early once `text` is longer than `most`.
bool read_rest(int fd, std::string& text, size_t most = SIZE_MAX);
// Appends all of a descriptor's file, whatever the descriptor's offset, which does not change.
// Returns false, with errno, on failure.
bool read_from_start(int fd, std::string& text);
// Writes all of `bytes`; returns false, with errno, on failure.
bool write_all(int fd, std::string_view bytes);

// Returns the content of a file, including files of /proc and /sys, whose size is unknown. errno
// holds the reason of a failure.
Result<std::string> read_file(const std::string& path);
// The same for an open file; without a descriptor, the failure is that of opening it.
Result<std::string> read_file(const FileDescriptor& file, const std::string& path);
// Returns the text without white space at either end, for one-line files of /proc and /sys.
std::string_view trimmed(std::string_view text);

// Creates or overwrites a file, with mode 0644; on failure no regular file of that name remains.
Status write_file(const std::string& path, std::string_view bytes);
// Writes a new file next to `path` and renames it: no reader sees a partial file, and a link that
// somebody has put there is replaced and not followed.
Status replace_file(const std::string& path, std::string_view bytes);
// The same; creates the folder.
Status write_atomically(const std::string& path, std::string_view bytes);

// A file's bytes, mapped read-only for the object's life.
class MappedFile {
  public:
    static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
    // The same for an open file; without a descriptor, errno gives the reason.
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
