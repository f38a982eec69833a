// SPDX-License-Identifier: GPL-2.0-or-later
// Folders for files that do not outlive this process.
#pragma once
#include "diagnostics/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace djstap {

// Returns $TMPDIR if no other user can replace what is created in it, else /tmp.
std::string temporary_directory();

// A folder that only this process uses, removed with all its content.
class TemporaryFolder {
  public:
    // Creates djstap-PID-XXXXXX below `parent`; the name tells remove_orphans() the owner. errno
    // holds the reason of a failure.
    static Result<TemporaryFolder> create(const std::string& parent);
    // Creates a folder in memory (/dev/shm) if possible, else in temporary_directory().
    static Result<TemporaryFolder> create_in_memory();
    // Creates djstap-XXXXXX, which is not removed.
    static Result<TemporaryFolder> create_to_stay(const std::string& parent);
    // Returns the pattern of these names, with XXXXXX for the unique part.
    static std::string pattern(const std::string& parent, bool stays);

    // No folder.
    TemporaryFolder() = default;
    TemporaryFolder(TemporaryFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), stays_(other.stays_) {}
    TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(stays_, other.stays_);
        return *this;
    }
    ~TemporaryFolder();

    // Empty if there is no folder.
    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    TemporaryFolder(std::string path, bool stays) : path_(std::move(path)), stays_(stays) {}
    static Result<TemporaryFolder> create(const std::string& parent, bool stays);

    std::string path_;
    bool stays_ = false;
};

// Removes the temporary folders in `parent` that belong to this user and whose process has ended.
// Returns their number.
size_t remove_orphans(const std::string& parent);
// The same for all places where create_in_memory() creates them.
void remove_orphans_in_memory();

} // namespace djstap
