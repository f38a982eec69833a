// SPDX-License-Identifier: GPL-2.0-or-later
// Folders for files that live no longer than this process.
#pragma once
#include "diagnostics/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace djstap {

// $TMPDIR where nobody else can replace what is made in it, else /tmp.
std::string temporary_directory();

// A folder of this process's own, removed with all that is in it.
class TemporaryFolder {
  public:
    // djstap-PID-XXXXXX below `parent`: whose it is, remove_orphans() sees by its name. After a
    // failure errno is the reason.
    static Result<TemporaryFolder> create(const std::string& parent);
    // In memory (/dev/shm) where that can be had, else in temporary_directory().
    static Result<TemporaryFolder> create_in_memory();
    // djstap-XXXXXX, which stays.
    static Result<TemporaryFolder> create_to_stay(const std::string& parent);
    // How the two are named, with XXXXXX in the place of what tells them apart.
    static std::string pattern(const std::string& parent, bool stays);

    // None yet.
    TemporaryFolder() = default;
    TemporaryFolder(TemporaryFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), stays_(other.stays_) {}
    TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(stays_, other.stays_);
        return *this;
    }
    ~TemporaryFolder();

    // Empty where there is none.
    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    TemporaryFolder(std::string path, bool stays) : path_(std::move(path)), stays_(stays) {}
    static Result<TemporaryFolder> create(const std::string& parent, bool stays);

    std::string path_;
    bool stays_ = false;
};

// Removes the temporary folders in `parent` that are this user's and whose process is gone. Yields
// how many.
size_t remove_orphans(const std::string& parent);
// The same for all places where create_in_memory() makes them.
void remove_orphans_in_memory();

} // namespace djstap
