// SPDX-License-Identifier: GPL-2.0-or-later
// A newc cpio archive that is generated while it is read, so that files of any size need little
// memory.
#pragma once
#include "guest/files.h"
#include "guest/guest.h"

#include <deque>
#include <string>

namespace djstap::guest {

class Archive {
  public:
    void add_folder(const std::string& path, unsigned mode = 0755);
    void add_text(const std::string& path, std::string text, unsigned mode = 0644);
    void add_link(const std::string& path, std::string target);
    // Adds a file of the host (or a link, see FileToCopy). Fails if it is unreadable or not a plain
    // file.
    Status add(const FileToCopy& file);

    // Appends the archive's next bytes to `out`, about `size` of them; returns false at the
    // archive's end. Fails if a file became unreadable or shorter since add().
    Result<bool> next(std::string& out, size_t size);

  private:
    struct Entry {
        std::string path, text, host_path;
        unsigned mode = 0;
        size_t size = 0;
    };
    void put_header(std::string& out, const Entry& entry);

    std::deque<Entry> entries_;
    FileDescriptor open_; // of the first entry's file
    size_t left_ = 0;     // the rest of its bytes
    unsigned inode_ = 0;
    bool ended_ = false;
};

} // namespace djstap::guest
