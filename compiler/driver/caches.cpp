// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/caches.h"

#include "cache/cache.h"
#include "system/temporary.h"
#include "system/trust.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <regex>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace djstap::driver {

namespace fs = std::filesystem;

namespace {

struct CachedFile {
    std::string path;
    uint64_t bytes;
    int64_t used; // seconds since 1970
    bool unfinished;
};

// Of a path below the cache's folder: whether djstap makes such files. The user may have named a
// folder with files of their own; the hashes in these names are no accident.
bool is_own(const std::string& path) {
    static const std::regex own("(library-[0-9a-f]{16}\\.index"
                                "|(embedded|headers)/[0-9a-f]{32}(\\.files|(-[0-9a-f]{16})?\\.o)"
                                "|modules/djstap_[0-9a-f]{8}_[0-9]+\\.ko"
                                "|kernels/[0-9a-f]{16,}/.+" // a build-id
                                "|kernels/[^/]+/(.+/)?[^/]+-[0-9a-f]{16}[^/]*"
                                "|runtime/[^/]+-[0-9a-f]{16}(\\.lock|(\\.part[^/]*)?/[^/]+)"
                                "|guest/[^/]+-[0-9a-f]{16}(\\.new\\.[0-9]+)?/[^/]+)"
                                "(\\.[A-Za-z0-9]{6}|\\.[0-9]+\\.part)?", // unfinished
                                std::regex::extended | std::regex::optimize);
    return std::regex_match(path, own);
}

std::vector<CachedFile> files_below(const std::string& folder) {
    std::vector<CachedFile> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        struct stat status = {};
        if (lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
            !is_own(at->path().lexically_relative(folder)))
            continue;
        // Reading a file does not change its modification time; with the usual "relatime" its
        // access time is accurate to a day.
        int64_t used = std::max<int64_t>(status.st_atime, status.st_mtime);
        std::string name = at->path().filename();
        // NAME.part, or NAME.XXXXXX as created by mkstemp. A complete file whose name happens to
        // match is only removed earlier.
        size_t dot = name.rfind('.');
        bool unfinished =
            name.ends_with(".part") || (dot != std::string::npos && dot + 7 == name.size());
        // A saved guest's memory and disk are mostly holes.
        const auto bytes = static_cast<uint64_t>(status.st_blocks) * 512;
        files.push_back({at->path(), bytes, used, unfinished});
    }
    return files;
}

} // namespace

CacheUse cache_use() {
    CacheUse use{cache_directory()};
    for (const CachedFile& file : files_below(use.folder)) {
        use.files++;
        use.bytes += file.bytes;
    }
    return use;
}

size_t apply_rules(const std::string& folder, const CacheRules& rules, int64_t now) {
    std::vector<CachedFile> files = files_below(folder);
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.used < b.used; });
    uint64_t total = 0;
    for (const CachedFile& file : files)
        total += file.bytes;
    size_t removed = 0;
    for (const CachedFile& file : files) {
        int64_t unused = now - file.used;
        bool old = unused > (file.unfinished ? rules.unfinished_seconds : rules.unused_seconds);
        if ((old || total > rules.largest) && unlink(file.path.c_str()) == 0) {
            total -= file.bytes;
            removed++;
        }
    }
    return removed;
}

void clean_caches() {
    std::string folder = cache_directory();
    std::string mark = folder + "/cleaned";
    struct stat status = {};
    int64_t now = time(nullptr);
    if (stat(mark.c_str(), &status) == 0 && now - status.st_mtime < 24 * 3600)
        return;
    if (stat(folder.c_str(), &status) != 0 || !check_trusted(folder))
        return;
    const FileDescriptor file(
        open(mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file)
        return;
    futimens(file.get(), nullptr);
    apply_rules(folder, CacheRules(), now);
    remove_orphans(temporary_directory());
}

} // namespace djstap::driver
