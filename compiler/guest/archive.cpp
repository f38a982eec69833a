// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/archive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::guest {

namespace {

void pad(std::string& out, size_t size) {
    out.append((4 - (size & 3)) & 3, '\0');
}

} // namespace

void Archive::add_folder(const std::string& path, unsigned mode) {
    entries_.push_back({path, "", "", S_IFDIR | mode, 0});
}

void Archive::add_text(const std::string& path, std::string text, unsigned mode) {
    size_t size = text.size();
    entries_.push_back({path, std::move(text), "", S_IFREG | mode, size});
}

void Archive::add_link(const std::string& path, std::string target) {
    size_t size = target.size();
    entries_.push_back({path, std::move(target), "", S_IFLNK | 0777, size});
}

Status Archive::add(const FileToCopy& file) {
    if (file.guest_path.size() < 2 || file.guest_path[0] != '/')
        return Failure{"'" + file.guest_path + "' is not an absolute path for a file in the guest",
                       ""};
    if (!file.link_target.empty()) {
        add_link(file.guest_path, file.link_target);
        return Done{};
    }
    FileDescriptor fd(open(file.host_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status;
    if (!fd || fstat(fd.get(), &status))
        return system_failure("open", file.host_path);
    if (!S_ISREG(status.st_mode))
        return Failure{file.host_path + " is not a regular file", ""};
    // The format has 32 bits for a size.
    if (status.st_size >= 0x7fffffff)
        return Failure{file.host_path + " is too large to copy into a guest",
                       "share the host's files with --guest-root instead"};
    unsigned mode = file.mode ? file.mode : status.st_mode & 07777;
    entries_.push_back(
        {file.guest_path, "", file.host_path, S_IFREG | mode, static_cast<size_t>(status.st_size)});
    return Done{};
}

void Archive::put_header(std::string& out, const Entry& entry) {
    char header[111];
    snprintf(header, sizeof header, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
             ++inode_, entry.mode, 0u, 0u, 1u, 0u, static_cast<unsigned>(entry.size), 0u, 0u, 0u,
             0u, static_cast<unsigned>(entry.path.size() + 1), 0u);
    out += header;
    out += entry.path;
    out += '\0';
    pad(out, 110 + entry.path.size() + 1);
}

Result<bool> Archive::next(std::string& out, size_t size) {
    size_t limit = out.size() + size;
    while (out.size() < limit) {
        if (entries_.empty()) {
            if (!ended_)
                put_header(out, {"TRAILER!!!", "", "", 0, 0});
            ended_ = true;
            return false;
        }
        const Entry& entry = entries_.front();
        if (!open_) {
            put_header(out, entry);
            left_ = entry.size;
            if (entry.host_path.empty()) {
                out += entry.text;
                pad(out, entry.text.size());
                entries_.pop_front();
                continue;
            }
            open_ = FileDescriptor(open(entry.host_path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!open_)
                return system_failure("open", entry.host_path);
        }
        size_t old = out.size();
        size_t wanted = std::min<size_t>(left_, 64 * 1024);
        out.resize(old + wanted);
        ssize_t n = wanted ? read(open_.get(), out.data() + old, wanted) : 0;
        if (n < 0)
            return system_failure("read", entry.host_path);
        if (n == 0 && wanted)
            return Failure{entry.host_path + " shrank while it was copied into the guest", ""};
        out.resize(old + static_cast<size_t>(n));
        left_ -= static_cast<size_t>(n);
        if (left_ == 0) {
            pad(out, entry.size);
            open_.reset();
            entries_.pop_front();
        }
    }
    return true;
}

} // namespace djstap::guest
