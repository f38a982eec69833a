// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/trust.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace djstap {

namespace fs = std::filesystem;

namespace {

// If a user has a private group of the same number, files are often writable for that group.
bool is_own_group(gid_t group, uid_t user) {
    return user != 0 && group == user && group == getegid();
}

bool is_ours(const struct stat& status, uid_t user) {
    return status.st_uid == 0 || status.st_uid == user;
}

constexpr const char* not_ours = "belongs to another user";

// Returns what is wrong with a file or folder; null: nothing. `above`: it is only on the way.
const char* complaint(const struct stat& status, bool above, uid_t user) {
    if (!is_ours(status, user))
        return not_ours;
    if (above && (status.st_mode & S_ISVTX))
        return nullptr;
    mode_t others = S_IWOTH;
    if (!is_own_group(status.st_gid, user))
        others |= S_IWGRP;
    return status.st_mode & others ? "is writable by others" : nullptr;
}

// Walks along a path by descriptors, following symbolic links.
class Walk {
  public:
    // `place`: the folder that the path leads to counts as being on the way.
    Walk(const std::string& path, uid_t user, bool place = false) : user_(user) {
        std::error_code error;
        const fs::path whole = fs::absolute(path, error);
        if (error || !enter_root())
            fail_with(path, error ? error.value() : errno);
        else
            go(whole.relative_path(), place);
    }

    // Those of what the path leads to; none if it does not exist.
    const FileDescriptor& parent() const { return parent_; }
    const std::string& name() const { return name_; }
    const Status& status() const { return status_; }

  private:
    static constexpr int max_links = 40; // like the kernel

    bool enter_root() {
        at_ = FileDescriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        seen_ = "/";
        return at_.get() >= 0 && fstat(at_.get(), &stat_) == 0;
    }

    void fail_with(const fs::path& what, int error) {
        status_ = Failure{what.string() + ": " + std::strerror(error), ""};
    }

    bool refuse(const fs::path& what, const char* why) {
        status_ = Failure{what.string() + ": " + why + ", so its content is not used",
                          "remove it, or set DJSTAP_CACHE to a folder of your own"};
        return false;
    }

    bool complains(bool above) {
        const char* why = complaint(stat_, above, user_);
        return why && !refuse(seen_, why);
    }

    void go(const fs::path& path, bool place) {
        left_.assign(path.begin(), path.end());
        while (!left_.empty()) {
            const std::string part = left_.front();
            left_.pop_front();
            if (!part.empty() && part != "." && !step(part))
                return;
        }
        complains(place);
    }

    // Returns false where the walk ends.
    bool step(const std::string& part) {
        FileDescriptor next(openat(at_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        const int open_error = errno;
        struct stat found = {};
        const bool there = next.get() >= 0 && fstat(next.get(), &found) == 0;
        if (complains(!there || !S_ISREG(found.st_mode)))
            return false;
        if (!there) {
            if (open_error != ENOENT && open_error != ENOTDIR)
                fail_with(seen_ / part, open_error);
            parent_.reset();
            return false;
        }
        if (S_ISLNK(found.st_mode))
            return is_ours(found, user_) ? follow(next, part) : refuse(seen_ / part, not_ours);
        parent_ = std::exchange(at_, std::move(next));
        name_ = part;
        stat_ = found;
        seen_ /= part;
        return true;
    }

    bool follow(const FileDescriptor& link, const std::string& part) {
        char text[PATH_MAX];
        const ssize_t length = readlinkat(link.get(), "", text, sizeof text);
        if (length < 0 || ++links_ > max_links) {
            fail_with(seen_ / part, length < 0 ? errno : ELOOP);
            return false;
        }
        const fs::path target(std::string(text, static_cast<size_t>(length)));
        const fs::path parts = target.relative_path();
        left_.insert(left_.begin(), parts.begin(), parts.end());
        if (!target.is_absolute() || enter_root())
            return true;
        fail_with("/", errno);
        return false;
    }

    uid_t user_;
    FileDescriptor at_, parent_;
    struct stat stat_ = {}; // of at_
    fs::path seen_;
    std::string name_;
    std::deque<std::string> left_;
    int links_ = 0;
    Status status_ = Done{};
};

} // namespace

Status check_trusted(const std::string& path, uid_t user) {
    return Walk(path, user).status();
}

Status check_trusted_place(const std::string& path) {
    return Walk(path, geteuid(), true).status();
}

FileDescriptor open_trusted(const std::string& path) {
    const uid_t user = geteuid();
    const Walk found(path, user);
    if (!found.status() || found.parent().get() < 0) {
        errno = found.status() ? ENOENT : EPERM;
        return {};
    }
    FileDescriptor file(openat(found.parent().get(), found.name().c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status = {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0)
        return {};
    if (!S_ISREG(status.st_mode) || complaint(status, false, user)) {
        errno = EPERM;
        return {};
    }
    return file;
}

} // namespace djstap
