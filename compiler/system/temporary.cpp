// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/temporary.h"

#include "system/file.h"
#include "system/trust.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "djstap-", unique = "XXXXXX";
constexpr const char* memory_directory = "/dev/shm";

} // namespace

std::string temporary_directory() {
    const char* set = std::getenv("TMPDIR");
    std::error_code error;
    return set && *set && check_trusted_place(set) ? fs::absolute(set, error).string() : "/tmp";
}

std::string TemporaryFolder::pattern(const std::string& parent, bool stays) {
    return parent + "/" + std::string(prefix) + (stays ? "" : std::to_string(getpid()) + "-") +
           std::string(unique);
}

Result<TemporaryFolder> TemporaryFolder::create(const std::string& parent, bool stays) {
    const std::string wanted = pattern(parent, stays);
    std::string path = wanted;
    if (mkdtemp(path.data()))
        return TemporaryFolder(std::move(path), stays);
    const int error = errno;
    Failure failure = path_failure(wanted, "cannot create a temporary folder");
    if (error == ENOSPC || error == EDQUOT)
        failure.hint = "free some space and run djstap again";
    errno = error;
    return failure;
}

Result<TemporaryFolder> TemporaryFolder::create(const std::string& parent) {
    return create(parent, false);
}

Result<TemporaryFolder> TemporaryFolder::create_to_stay(const std::string& parent) {
    return create(parent, true);
}

Result<TemporaryFolder> TemporaryFolder::create_in_memory() {
    if (auto folder = create(memory_directory))
        return folder;
    return create(temporary_directory());
}

TemporaryFolder::~TemporaryFolder() {
    if (path_.empty() || stays_)
        return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

size_t remove_orphans(const std::string& parent) {
    size_t removed = 0;
    std::error_code error;
    for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename();
        if (!name.starts_with(prefix))
            continue;
        pid_t owner = 0;
        const char* last = name.data() + name.size();
        auto [rest, bad] = std::from_chars(name.data() + prefix.size(), last, owner);
        struct stat status = {};
        if (bad != std::errc() || last - rest != 1 + std::ptrdiff_t{unique.size()} ||
            *rest != '-' || owner <= 0 || lstat(at->path().c_str(), &status) != 0 ||
            !S_ISDIR(status.st_mode) || status.st_uid != geteuid() || kill(owner, 0) == 0 ||
            errno != ESRCH)
            continue;
        std::error_code ignored;
        removed += fs::remove_all(at->path(), ignored) > 0 && !ignored;
    }
    return removed;
}

void remove_orphans_in_memory() {
    remove_orphans(memory_directory);
    remove_orphans(temporary_directory());
}

} // namespace djstap
